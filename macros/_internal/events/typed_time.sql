{#- A date: days since 1970, `2022-01-08` with or without Z, or its parts. -#}
{% macro _typed_date(x, mode) %}
  {%- set days = 'try_cast(' ~ x ~ ' as int)' -%}
  {{ return('case when ' ~ x ~ " rlike '^-?[0-9]+$' then if(" ~ days ~ ' between -719162 and 2932896, date_from_unix_date(' ~ days ~ '), null) when ' ~ x
      ~ " rlike '^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}Z?$' then try_cast(left(" ~ x ~ ', 10) as date)'
      ~ alluvium._of_parts(x, mode, alluvium._in_years('try_cast(' ~ alluvium._composed(x, ['%04d-', 'year', '%02d-', 'month', '%02d', 'day']) ~ ' as date)', 'date')) ~ ' end') }}
{% endmacro %}


{#- A timestamp: a number, whose unit the schema envelope or the user says, a text with its time of day, or its parts.
    Years 1 to 9999, as in Spark; nanoseconds are cut. -#}
{% macro _typed_timestamp(kind, x, mode, unit=none) %}
  {%- set units = [] -%}
  {%- set number = 'try_cast(' ~ x ~ ' as bigint)' -%}
  {%- for name, micros, bounds in [
      ('millis', number ~ ' * 1000', '-62135596800000 and 253402300799999'),
      ('micros', number, '-62135596800000000 and 253402300799999999'),
      ('nanos', '(' ~ number ~ ' - pmod(' ~ number ~ ', 1000)) div 1000', '-9223372036854775000 and 9223372036854775807'),
  ] -%}
    {%- do units.append("when '" ~ name ~ "' then if(" ~ number ~ ' between ' ~ bounds ~ ', ' ~ micros ~ ', null)') -%}
  {%- endfor -%}
  {%- set zone = '(Z|[+-][0-9]{2}:[0-9]{2})' if kind == 'timestamp' else 'Z' -%}
  {%- set parts = ['%04d-', 'year', '%02d-', 'month', '%02dT', 'day', '%02d:', 'hour', '%02d:', 'minute', '%02d', 'second', '.%09d', 'nanos'] -%}
  {%- set composed = 'try_cast(' ~ alluvium._composed(x, parts) ~ (" || 'Z'" if kind == 'timestamp' else '') ~ ' as ' ~ kind ~ ')' -%}
  {%- if kind == 'timestamp' -%}
    {%- set composed = composed ~ ' - make_dt_interval(0, 0, 0, coalesce(try_cast(get_json_object(' ~ x ~ ", '$.offsetSeconds') as int), 0))" -%}
  {%- endif -%}
  {%- set written = 'try_cast(' ~ x ~ ' as ' ~ kind ~ ')' -%}
  {%- if kind == 'timestamp' -%}
    {#- Its zone may move it out of the first year, or of the last one. -#}
    {%- set written = 'if(left(' ~ x ~ ", 4) in ('0001', '9999'), " ~ alluvium._in_years(written, kind) ~ ', ' ~ written ~ ')' -%}
  {%- endif -%}
  {#- PostgreSQL's infinities: in nanoseconds they are days of 2262 and 1677. -#}
  {{ return('case when ' ~ x ~ " in ('9223372036825200000', '-9223372036832400000') then null when " ~ x ~ " rlike '^-?[0-9]+$' then "
      ~ alluvium._of_micros('case ' ~ alluvium._time_unit(mode, unit) ~ ' ' ~ units | join(' ') ~ ' end', kind) ~ ' when ' ~ x
      ~ " rlike '^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?" ~ zone ~ "?$' then " ~ written
      ~ alluvium._of_parts(x, mode, alluvium._in_years(composed, kind)) ~ ' end') }}
{% endmacro %}


{#- A time of the years 1 to 9999; NULL for another. -#}
{% macro _in_years(value, kind) %}
  {%- set begin, end = "'0001-01-01 00:00:00 UTC'", "'9999-12-31 23:59:59.999999 UTC'" -%}
  {%- if kind != 'timestamp' -%}{%- set begin, end = "'0001-01-01'", "'9999-12-31" ~ ("'" if kind == 'date' else " 23:59:59.999999'") -%}{%- endif -%}
  {{ return('if(' ~ value ~ ' between ' ~ kind ~ begin ~ ' and ' ~ kind ~ end ~ ', ' ~ value ~ ', null)') }}
{% endmacro %}


{#- The case of a time whose parts are a JSON object, where the user does not say that times are written otherwise. -#}
{% macro _of_parts(x, mode, composed) %}
  {{ return(' when ' ~ x ~ " like '{%' then " ~ composed if mode in (none, 'structured') else '') }}
{% endmacro %}


{#- The unit of a number: what the event's schema says, else the user; NULL where nobody does. -#}
{% macro _time_unit(mode, unit=none) %}
  {%- set said = {'connect': "'millis'", 'microseconds': "'micros'", 'nanoseconds': "'nanos'", 'milliseconds': "'millis'"}.get(mode, 'cast(null as string)') -%}
  {%- if unit is none -%}{{ return(said) }}{%- endif -%}
  {{ return('case ' ~ unit ~ ".name when 'io.debezium.time.Timestamp' then 'millis' when 'io.debezium.time.MicroTimestamp' then 'micros' "
      ~ "when 'io.debezium.time.NanoTimestamp' then 'nanos' when 'org.apache.kafka.connect.data.Timestamp' then 'millis' else " ~ said ~ ' end') }}
{% endmacro %}


{% macro _of_micros(micros, kind='timestamp') %}
  {{ return('timestamp_micros(' ~ micros ~ ')' if kind == 'timestamp'
      else "timestamp_ntz'1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, cast(" ~ micros ~ ' as decimal(20, 0)) / 1000000)') }}
{% endmacro %}


{#- The text of the parts of a time in JSON; no date where one of them is missing. parts: formats, each before the name of its part. -#}
{% macro _composed(x, parts) %}
  {%- set formats, values = [], [] -%}
  {%- for one in parts -%}
    {%- if loop.index0 % 2 -%}
      {%- do values.append('try_cast(get_json_object(' ~ x ~ ", '$." ~ one ~ "') as int)") -%}
    {%- else -%}
      {%- do formats.append(one) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return("format_string('" ~ formats | join ~ "', " ~ values | join(', ') ~ ')') }}
{% endmacro %}
