{#- Rules of published models on a stock target. On an alluvium target Python has them, `dbt.adapters.alluvium.audit`: it needs no package. -#}

{#- The node whose table a published model shows, as `candidate`; or the `mistake` that there is none. -#}
{% macro _candidate_of(node) %}
  {%- set wanted = '`select * from {' ~ '{ ref(\'…\') }' ~ '}`, a table of the project' -%}
  {#- What a published model may be besides its one `select *`: what says nothing of rows. -#}
  {%- set aside = '(?s)[{]#.*?#[}]|[{][{]-?\\s*config\\((?:\'[^\']*\'|"[^"]*"|[^\'"])*?\\)\\s*-?[}][}]|/\\*.*?\\*/|--[^\\n]*' -%}
  {%- set select = '(?i)\\s*select\\s+\\*\\s+from\\s+[{][{]-?\\s*ref\\(([^()]*)\\)\\s*-?[}][}]\\s*;?\\s*' -%}
  {%- set found = modules.re.fullmatch(select, modules.re.sub(aside, ' ', node.raw_code)) -%}
  {%- if not found -%}
    {{ return({'mistake': node.name ~ ': a published model shows one whole table; accepted: ' ~ wanted
        ~ '. Filters and columns belong in the model of that table'}) }}
  {%- endif -%}
  {%- set argument = '\\s*(?:(\\w+)\\s*=\\s*)?(?:\'([^\']*)\'|"([^"]*)"|(\\d[\\w.]*))\\s*' -%}
  {%- set names = [] -%}
  {%- set versions = [] -%}
  {%- if modules.re.fullmatch(argument ~ '(,' ~ argument ~ ')*', found[1]) -%}
    {%- for key, single, double, number in modules.re.findall(argument, found[1]) -%}
      {%- do (versions if key in ('v', 'version') else names).append(single or double or number) -%}
    {%- endfor -%}
  {%- endif -%}
  {%- set parents = [] -%}
  {%- for id in node.depends_on.nodes if id in graph.nodes -%}
    {%- set one = graph.nodes[id] -%}
    {%- if names and [one.package_name, one.name][-(names | length):] == names and (not versions or one.get('version') | string == versions[0]) -%}
      {%- do parents.append(one) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if parents | length != 1 or parents[0].unique_id == node.unique_id -%}
    {{ return({'mistake': node.name ~ ': ' ~ found[1].strip() ~ (' names several tables' if parents | length > 1 else ' names no table')
        ~ ' of the project; accepted: ' ~ wanted}) }}
  {%- endif -%}
  {%- set kind = parents[0].config.materialized -%}
  {%- if parents[0].resource_type not in ('model', 'snapshot') or kind not in ('incremental', 'table', 'snapshot') -%}
    {{ return({'mistake': node.name ~ ': ' ~ parents[0].name ~ ' is materialized as ' ~ kind
        ~ ', of which no version is kept; accepted: incremental, table, snapshot'}) }}
  {%- endif -%}
  {{ return({'candidate': parents[0]}) }}
{% endmacro %}


{#- The published models that show a node. -#}
{% macro _shown_by(unique_id) %}
  {%- set found = [] -%}
  {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.config.materialized == 'published' -%}
    {%- if alluvium._candidate_of(node).get('candidate', {}).get('unique_id') == unique_id -%}{%- do found.append(node) -%}{%- endif -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}


{#- The audit: data tests attached to the candidate, and singular tests that read it. -#}
{% macro _audit_tests(candidate) %}
  {%- set found = [] -%}
  {%- for node in graph.nodes.values() if node.resource_type == 'test' -%}
    {%- if candidate.unique_id == node.get('attached_node') or (not node.get('test_metadata') and candidate.unique_id in node.depends_on.nodes) -%}
      {%- do found.append(node) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}


{% macro _publish_settings(node) %}
  {{ return((node.config.get('meta') or {}).get('alluvium_publish') or {}) }}
{% endmacro %}


{#- Every mistake in a published model, before anything of it is written. -#}
{% macro _published_mistakes(node) %}
  {%- set found = alluvium._candidate_of(node) -%}
  {%- if found.mistake -%}{{ return([found.mistake]) }}{%- endif -%}
  {%- set candidate = found.candidate -%}
  {%- set mistakes = alluvium._written_by_no_publish(node, candidate) + alluvium._not_on_stock(node, candidate) -%}
  {%- set tests = alluvium._audit_tests(candidate) -%}
  {%- if not tests and alluvium._publish_settings(node).audit != 'none' -%}
    {%- do mistakes.append(node.name ~ ': ' ~ candidate.name ~ ' has no data test, so nothing would be audited;'
        ~ ' accepted: a test of it, or meta.alluvium_publish: {audit: none}') -%}
  {%- endif -%}
  {%- for test in tests -%}{%- do mistakes.extend(alluvium._gate_mistakes(node, candidate, test)) -%}{%- endfor -%}
  {{ return(mistakes) }}
{% endmacro %}


{% macro _validate_published(node, mistakes) %}
  {%- if node.config.materialized == 'published' -%}
    {%- do mistakes.extend(alluvium._published_mistakes(node)) -%}
  {%- elif 'alluvium_publish' in (node.config.get('meta') or {}) -%}
    {%- do mistakes.append(node.name ~ ': meta.alluvium_publish is read of published models only; accepted: materialized: published') -%}
  {%- endif -%}
{% endmacro %}


{#- A publish writes no row. -#}
{% macro _written_by_no_publish(node, candidate) %}
  {%- set mistakes = [] -%}
  {%- for rule, names, is_given in [
          ('contract', 'the contract', (node.config.get('contract') or {}).enforced),
          ('constraint', 'the constraints', node.get('constraints') or node.columns.values() | selectattr('constraints') | list),
      ] if is_given -%}
    {%- do mistakes.append(node.name ~ ': a publish writes no row, so it checks no ' ~ rule ~ '; accepted: ' ~ names ~ ' on ' ~ candidate.name) -%}
  {%- endfor -%}
  {%- set meta = node.config.get('meta') or {} -%}
  {%- for key, is_given in [
          ('location_root', node.config.get('location_root') is not none),
          ('partition_by', node.config.get('partition_by') is not none),
          ('meta.alluvium_layout', 'alluvium_layout' in meta),
          ('meta.alluvium_merge', 'alluvium_merge' in meta),
      ] if is_given -%}
    {%- do mistakes.append(node.name ~ ': ' ~ key ~ ' says how files are written, and a publish writes none; accepted: ' ~ key ~ ' on ' ~ candidate.name) -%}
  {%- endfor -%}
  {%- set properties = node.config.get('tblproperties') or {} -%}
  {%- set both = ['delta.deletedFileRetentionDuration', 'delta.logRetentionDuration'] | select('in', properties) | list -%}
  {%- if both and alluvium._publish_settings(node).retention is not none -%}
    {%- do mistakes.append(node.name ~ ': meta.alluvium_publish.retention sets ' ~ both | join(', ')
        ~ ', and so does tblproperties; accepted: one of the two') -%}
  {%- endif -%}
  {{ return(mistakes) }}
{% endmacro %}


{#- dbt runs a test before a model only where all that the test reads comes before it. -#}
{% macro _gate_mistakes(node, candidate, test) %}
  {%- set before = alluvium._ancestors(node) -%}
  {%- set made, after, others = [], [], [] -%}
  {%- for id in test.depends_on.nodes if id in graph.nodes -%}
    {%- set theirs = alluvium._ancestors(graph.nodes[id]) -%}
    {%- set comes_after = id == node.unique_id or node.unique_id in theirs -%}
    {%- if candidate.unique_id in theirs and not comes_after -%}{%- do made.append(graph.nodes[id]) -%}{%- endif -%}
    {%- if id not in before -%}{%- do (after if comes_after else others).append(graph.nodes[id]) -%}{%- endif -%}
  {%- endfor -%}
  {%- set reads = node.name ~ ': the test ' ~ test.name ~ ' of ' ~ candidate.name ~ ' reads ' ~ (made or after or others) | map(attribute='name') | join(', ') -%}
  {%- if made -%}
    {{ return([reads ~ ' too, which may be made from another version of it; accepted: a test that reads ' ~ candidate.name ~ ' alone']) }}
  {%- elif after -%}
    {{ return([reads ~ ', which comes after the publish that it gates; accepted: the test on ' ~ node.name]) }}
  {%- elif others -%}
    {%- set lines = [] -%}
    {%- for one in others -%}{%- do lines.append('-- depends_on: {' ~ "{ ref('" ~ one.name ~ "') }" ~ '}') -%}{%- endfor -%}
    {{ return([reads ~ ', which dbt may build after ' ~ node.name ~ '; accepted: in ' ~ node.name ~ ' ' ~ lines | join('; ')]) }}
  {%- endif -%}
  {{ return([]) }}
{% endmacro %}
