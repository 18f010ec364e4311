{#- `ref` of a model at an earlier version of its table: one that `alluvium.log` shows, or one with a tag. Or it is the
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
  {%- if target.type == 'alluvium' and execute -%}
    {{ adapter.at(relation, version, timestamp and timestamp | string, tag, batch) }}
  {%- elif version is not none -%}
    {{ relation }} version as of {{ version }}
  {%- elif timestamp is not none -%}
    {#- A zone is named, for that of the session is the writer's. -#}
    {{ relation }} timestamp as of '{{ timestamp }}{{ ' 00:00' if timestamp | string | length == 10 }} UTC'
  {%- else -%}
    {%- if execute -%}{%- do alluvium._require_alluvium('alluvium.at', 'has no ' ~ ('tags' if tag is not none else 'batches')) -%}{%- endif -%}
    {{ relation }}
  {%- endif -%}
{%- endmacro %}
