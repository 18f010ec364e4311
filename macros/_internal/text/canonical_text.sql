{#- SQL that writes `expression` of `type` as text. Here is also the other half of the way to the canonical text of
    docs/ranges.md. It is what SQL cannot write in every session's settings. -#}
{% macro _text_of(expression, type) %}
  {%- if type == 'timestamp' -%}
    {#- Microseconds since 1970: the only text that no session's time zone changes. -#}
    {{ return('cast(unix_micros(' ~ expression ~ ') as string)') }}
  {%- elif type in ('float', 'double') -%}
    {{ return('lower(cast(cast(' ~ expression ~ ' as double) as string))') }}
  {%- endif -%}
  {{ return('cast(' ~ expression ~ ' as string)') }}
{% endmacro %}


{% macro _canonical_text(text, type) %}
  {%- if text is none -%}
    {{ return(none) }}
  {%- elif type == 'timestamp' -%}
    {%- set micros = text | int -%}
    {#- The years 1 to 9999: Python's calendar ends there. -#}
    {%- if micros < -62135596800000000 or micros >= 253402300800000000 -%}{{ return(none) }}{%- endif -%}
    {%- set moment = modules.datetime.datetime(1970, 1, 1) + modules.datetime.timedelta(microseconds=micros) -%}
    {{ return(moment.isoformat(sep=' ', timespec='microseconds')) }}
  {%- elif type == 'timestamp_ntz' -%}
    {%- set parts = text.split('.') -%}
    {{ return(parts[0] ~ '.' ~ ((parts[1] if parts | length > 1 else '') ~ '000000')[:6]) }}
  {%- elif type in ('float', 'double') -%}
    {%- set value = text | replace('infinity', 'inf') -%}
    {{ return('0.0' if value == '-0.0' else value) }}
  {%- endif -%}
  {{ return(text) }}
{% endmacro %}


{#- Types of columns that Delta keeps min and max of, and that have a literal. -#}
{% macro _can_range(type) %}
  {{ return(type in ('tinyint', 'smallint', 'int', 'bigint', 'float', 'double', 'date', 'timestamp',
                     'timestamp_ntz', 'string') or type[:8] == 'decimal(') }}
{% endmacro %}
