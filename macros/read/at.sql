{#- `ref` of a model at an earlier version of its table: one that `alluvium.commits` shows, or one with a tag. Or it is the
    newest one at a time, or the newest one that holds nothing later than a batch. Tombstones stay hidden where `ref`
    hides them. -#}
{% macro at(relation, version=none, timestamp=none, tag=none, batch=none) -%}
  {%- set given = {'version': version, 'timestamp': timestamp, 'tag': tag, 'batch': batch} -%}
  {%- do alluvium._check_arguments('at', given, kwargs, kind='macro') -%}
  {%- set named = given.items() | selectattr(1, 'ne', none) | map('first') | list -%}
  {%- if named | length != 1 -%}
    {%- do exceptions.raise_compiler_error('alluvium.at: ' ~ (named | join(' and ') ~ ' are given' if named else 'no version is given')
        ~ '; accepted: one of ' ~ given | join(', ')) -%}
  {%- endif -%}
  {%- if model is defined and model.resource_type == 'unit_test' -%}
    {#- The rows that it gives stand for that version. -#}
    {{- relation -}}
  {%- elif relation.is_cte -%}
    {%- do exceptions.raise_compiler_error('alluvium.at: ' ~ relation.identifier | replace('__dbt__cte__', '', 1)
        ~ ' is ephemeral, so no version of it is kept; accepted: a model with a Delta table') -%}
  {%- elif target.type == 'alluvium' and execute and flags.INTROSPECT is not sameas false -%}
    {{ adapter.at(relation, version, timestamp and timestamp | string, tag, batch) }}
  {%- elif tag is not none or batch is not none -%}
    {%- if execute -%}{%- do alluvium._require_alluvium('alluvium.at', 'has no ' ~ ('tags' if tag is not none else 'batches')) -%}{%- endif -%}
    {{ relation }}
  {%- else -%}
    {%- set name = relation if relation is string else relation.render() -%}
    {#- A zone is named, for that of the session is the writer's. -#}
    {%- set clause = 'version as of ' ~ version if version is not none
        else "timestamp as of '" ~ timestamp ~ (' 00:00' if timestamp | string | length == 10 else '') ~ " UTC'" -%}
    {#- dbt may have written a limit or a filter around the name, which time travel belongs to. -#}
    {{- relation | string | replace(name, name ~ ' ' ~ clause, 1) -}}
  {%- endif -%}
{%- endmacro %}
