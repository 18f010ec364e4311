{#- dbt run-operation alluvium.generate_feed --args '{source: orders_events, key: id}'

    Prints a merged model over bronze, and its YAML with tests, from a sample of the events. -#}
{% macro generate_feed(source=none, key=none, name=none, sample=1000, write=false) %}
  {%- if not alluvium._begin_operation('generate_feed', {'source': source, 'key': key, 'name': name, 'sample': sample, 'write': write}, kwargs,
                                       'has no Python that looks at events') -%}
    {{ return('') }}
  {%- endif -%}
  {%- set node = alluvium._find_model(source, 'alluvium.generate_feed: source') -%}
  {%- set relation = alluvium._existing_relation(node) -%}
  {%- if relation is none -%}
    {%- do exceptions.raise_compiler_error('alluvium.generate_feed: ' ~ source ~ ' has no table yet; accepted: a bronze model that was built') -%}
  {%- endif -%}
  {%- set made = name or modules.re.sub('_events$', '', node.name) -%}
  {%- if made == node.name -%}
    {%- do exceptions.raise_compiler_error('alluvium.generate_feed: name is missing; accepted: a name for the merged model that is not ' ~ made) -%}
  {%- endif -%}
  {%- set newest = run_query('select `_value` from ' ~ relation ~ ' where `_value` is not null order by `_batch_id` desc limit ' ~ sample) -%}
  {%- do alluvium._say(adapter.generate_feed(node.unique_id, made, alluvium._column_names(key), newest.columns[0].values() | list, write)) -%}
{% endmacro %}
