{#- `ref` of a model at an earlier version of its table: one that `alluvium.log` shows, or the newest one at a time. Tombstones
    stay hidden where `ref` hides them. Delta tells which versions there are, where it is asked for another. -#}
{% macro at(relation, version=none, timestamp=none) -%}
  {%- set mistakes = [] -%}
  {%- set of = alluvium._value_schemas() -%}
  {%- for name in kwargs -%}
    {%- do mistakes.append('unknown argument ' ~ name ~ '; accepted: version, timestamp' ~ alluvium._did_you_mean(name, ['version', 'timestamp'])) -%}
  {%- endfor -%}
  {%- for name, value, schema in (('version', version, of.natural), ('timestamp', timestamp, of.moment)) if value is not none -%}
    {%- if not alluvium._fits_schema(value, schema) -%}
      {%- do mistakes.append(name ~ ' is ' ~ alluvium._shown_value(value) ~ '; accepted: ' ~ schema.accepted) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if not mistakes and (version is none) == (timestamp is none) -%}
    {%- do mistakes.append('version and timestamp are ' ~ ('missing' if version is none else 'both given') ~ '; accepted: one of them') -%}
  {%- endif -%}
  {%- if mistakes -%}
    {%- do exceptions.raise_compiler_error('alluvium.at: ' ~ mistakes | join('\nalluvium.at: ')) -%}
  {%- endif -%}
  {%- if version is not none -%}
    {{ relation }} version as of {{ version }}
  {%- else -%}
    {#- A zone is named, for that of the session is the writer's. -#}
    {{ relation }} timestamp as of '{{ timestamp }}{{ ' 00:00' if timestamp | string | length == 10 }} UTC'
  {%- endif -%}
{%- endmacro %}
