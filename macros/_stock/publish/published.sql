{#- What readers see of another table, on a stock target: a view of one version of it, which `alter view` moves at once. dbt-databricks has a shallow
    clone where the candidate keeps no tombstones, for a clone would show them. -#}
{% materialization published, adapter='spark', supported_languages=['sql'] -%}
  {%- set existing_relation = load_relation(this) -%}
  {%- set mistakes = alluvium._published_mistakes(model) -%}
  {%- do alluvium._validate_dispatch([], mistakes) -%}
  {%- if mistakes -%}{%- do exceptions.raise_compiler_error(mistakes | join('\n')) -%}{%- endif -%}
  {%- set candidate = alluvium._candidate_of(model).candidate -%}
  {%- set source = alluvium._existing_relation(candidate) -%}
  {%- if source is none or source.is_view -%}
    {%- do exceptions.raise_compiler_error(model.name ~ ': there is no Delta table ' ~ candidate.schema ~ '.' ~ candidate.alias
        ~ ' to publish; accepted: to build ' ~ candidate.name ~ ' first') -%}
  {%- endif -%}
  {%- set as_view = alluvium._is_shown_by_view(candidate) -%}
  {%- set head = alluvium._stock_head(existing_relation, as_view) -%}

  {{ run_hooks(pre_hooks) }}

  {%- set tests = [] if alluvium._publish_settings(model).audit == 'none' else alluvium._audit_tests(candidate) -%}
  {%- set state = alluvium._table_state(source) -%}
  {%- set why = alluvium._held(model, candidate, tests, source, state, sql) -%}
  {%- if why -%}{%- do alluvium._check_stays(model, candidate, head, why) -%}{%- endif -%}
  {%- set moves = not head.exists if why else head.version != state.version -%}
  {%- if moves -%}
    {%- call statement('main') -%}{{ alluvium._show(source, candidate, head, state.version, empty=why is not none) }}{%- endcall -%}
  {%- else -%}
    {%- do store_result('main', response='OK ' ~ ('not published' if why else 'nothing to change')) -%}
  {%- endif -%}
  {%- if why -%}
    {%- set shows = 'is empty' if head.version is none else 'still shows version ' ~ alluvium._thousands(head.version) ~ ' of ' ~ candidate.name -%}
    {%- do log(model.name ~ ': ' ~ shows ~ ': ' ~ why, info=true) -%}
  {%- else -%}
    {%- do log(model.name ~ ': ' ~ (alluvium._counted(tests | length, 'test') ~ ' passed' if tests else 'not audited') ~ ' → version '
        ~ alluvium._thousands(state.version) ~ ' of ' ~ candidate.name ~ ' published' ~ ('' if moves else ', nothing to change'), info=true) -%}
  {%- endif -%}

  {%- do apply_grants(this, config.get('grants'), should_revoke(existing_relation, full_refresh_mode=false)) -%}
  {%- if not as_view -%}{%- do persist_docs(this, model) -%}{%- endif -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [this.incorporate(type='view' if as_view else 'table')]}) }}
{%- endmaterialization %}


{% macro _is_shown_by_view(candidate) %}
  {{ return(target.type != 'databricks' or alluvium._is_soft(candidate)) }}
{% endmacro %}


{% macro _is_soft(node) %}
  {{ return(alluvium._keeps_tombstones((node.config.get('meta') or {}).get('alluvium_merge') or {})) }}
{% endmacro %}


{#- What a target of this type does not do of what a published model asks for. -#}
{% macro _not_on_stock(node, candidate) %}
  {%- set mistakes = [] -%}
  {%- if target.type != 'databricks' and candidate.config.get('file_format') != 'delta' -%}
    {%- do mistakes.append(node.name ~ ': file_format of ' ~ candidate.name ~ ' is ' ~ candidate.config.get('file_format')
        ~ ', of which no version is kept; accepted: delta') -%}
  {%- endif -%}
  {%- if alluvium._is_shown_by_view(candidate) -%}
    {%- set wanted = {
        'tblproperties': node.config.get('tblproperties'),
        'meta.alluvium_publish.retention': alluvium._publish_settings(node).retention,
        'persist_docs': (node.config.get('persist_docs') or {}).values() | select | list,
    } -%}
    {%- for name, value in wanted.items() if value -%}
      {%- do mistakes.append(node.name ~ ': ' ~ name ~ ' is given, but on a target of type ' ~ target.type ~ ' this is a view of ' ~ candidate.name
          ~ ', which keeps none; accepted: ' ~ ('persist_docs' if name == 'persist_docs' else 'tblproperties') ~ ' on ' ~ candidate.name) -%}
    {%- endfor -%}
  {%- endif -%}
  {{ return(mistakes) }}
{% endmacro %}


{#- The `version` that readers see; none where nothing is published yet. Stops where something is there that no publish made. -#}
{% macro _stock_head(existing, as_view) %}
  {%- if existing is none -%}{{ return({'version': none, 'exists': false}) }}{%- endif -%}
  {%- set shown = '(?is)\\s*select \\* from .+ version as of (\\d+)( where false| where not coalesce\\(`_deleted`, false\\))?\\s*' -%}
  {%- set found = [] -%}
  {%- if existing.is_view and as_view -%}
    {%- for row in run_query('describe extended ' ~ existing.render()).rows if row[0] == 'View Text' and modules.re.fullmatch(shown, row[1]) -%}
      {%- set text = modules.re.fullmatch(shown, row[1]) -%}
      {%- do found.append('none' if text[2] == ' where false' else text[1]) -%}
    {%- endfor -%}
  {%- elif not existing.is_view and not as_view -%}
    {%- for row in run_query('show tblproperties ' ~ existing.render()).rows if row[0] == 'alluvium.published' -%}
      {%- do found.append(row[1]) -%}
    {%- endfor -%}
  {%- endif -%}
  {%- if not found -%}
    {%- do exceptions.raise_compiler_error(existing.render() ~ ' is there as a ' ~ ('view' if existing.is_view else 'table')
        ~ ' that no such publish made. Nothing was changed. Accepted: to rename or drop it, or another alias') -%}
  {%- endif -%}
  {{ return({'version': none if found[0] == 'none' else found[0] | int, 'exists': true}) }}
{% endmacro %}


{#- The statement that lets readers see a version; `empty` none of its rows. -#}
{% macro _show(source, candidate, head, version, empty=false) %}
  {%- set this_version = source.render() ~ ' version as of ' ~ version -%}
  {%- if alluvium._is_shown_by_view(candidate) -%}
    {%- set where = ' where false' if empty else ' where not coalesce(`_deleted`, false)' if alluvium._is_soft(candidate) else '' -%}
    {{ return(('alter' if head.exists else 'create') ~ ' view ' ~ this.render() ~ ' as select * from ' ~ this_version ~ where) }}
  {%- endif -%}
  {%- set pairs = ["'alluvium.published' = '" ~ ('none' if empty else version) ~ "'"] -%}
  {%- for name, value in alluvium._own_properties(model).items() -%}
    {%- do pairs.append(alluvium._text_literal(name) ~ ' = ' ~ alluvium._text_literal(value | string)) -%}
  {%- endfor -%}
  {%- set properties = ' tblproperties (' ~ pairs | join(', ') ~ ')' -%}
  {%- if empty -%}
    {{ return('create table ' ~ this.render() ~ properties ~ ' as select * from ' ~ this_version ~ ' where false') }}
  {%- endif -%}
  {{ return('create or replace table ' ~ this.render() ~ ' shallow clone ' ~ this_version ~ properties) }}
{% endmacro %}


{% macro _own_properties(node) %}
  {%- set kept = alluvium._publish_settings(node).retention -%}
  {%- set both = ('delta.deletedFileRetentionDuration', 'delta.logRetentionDuration') -%}
  {{ return(dict(dict.fromkeys(both, 'interval ' ~ kept) if kept is not none else {}, **(node.config.get('tblproperties') or {}))) }}
{% endmacro %}
