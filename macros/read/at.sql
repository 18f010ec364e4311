{#- `ref` of a model at an earlier version of its table: one that `alluvium.log` shows, or one with a tag. Or it is the
    newest one at a time, or the newest one that holds nothing later than a batch. Tombstones stay hidden where `ref`
    hides them. -#}
{% macro at(relation, version=none, timestamp=none, tag=none, batch=none) -%}
  {%- set mistakes = [] -%}
  {%- set of = alluvium._value_schemas() -%}
  {%- set given = {'version': version, 'timestamp': timestamp, 'tag': tag, 'batch': batch} -%}
  {%- set schemas = {'version': of.natural, 'timestamp': of.moment, 'tag': of.text, 'batch': of.natural} -%}
  {%- for name in kwargs -%}
    {%- do mistakes.append('unknown argument ' ~ name ~ '; accepted: ' ~ given | join(', ') ~ alluvium._did_you_mean(name, given)) -%}
  {%- endfor -%}
  {%- set named = [] -%}
  {%- for name, value in given.items() if value is not none -%}
    {%- do named.append(name) -%}
    {%- if not alluvium._fits_schema(value, schemas[name]) -%}
      {%- do mistakes.append(name ~ ' is ' ~ alluvium._shown_value(value) ~ '; accepted: ' ~ schemas[name].accepted) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if not mistakes and named | length != 1 -%}
    {%- do mistakes.append((named | join(' and ') ~ ' are given' if named else 'no version is given') ~ '; accepted: one of '
        ~ given | join(', ')) -%}
  {%- endif -%}
  {%- if mistakes -%}
    {%- do exceptions.raise_compiler_error('alluvium.at: ' ~ mistakes | join('\nalluvium.at: ')) -%}
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
