{#- Text of a range bound as a typed SQL literal. None where the type has no literal that Delta skips files with. Also
    none where the text is not of that type's one form. See docs/ranges.md. -#}
{% macro _sql_literal(value, type) %}
  {%- set fullmatch = modules.re.fullmatch -%}
  {%- set number = '-?[0-9]+([.][0-9]+)?' -%}
  {%- set day = '([+]?[0-9]{4,7}|-[0-9]{4,7})-[0-9]{2}-[0-9]{2}' -%}
  {%- set moment = day ~ ' [0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}' -%}
  {%- set whole = {'tinyint': 'Y', 'smallint': 'S', 'int': '', 'bigint': 'L'} -%}
  {%- set real = {'float': 'F', 'double': 'D'} -%}
  {%- set sql = none -%}
  {%- if value is none -%}
  {%- elif type in whole and fullmatch('-?[0-9]+', value) -%}
    {%- set sql = value ~ whole[type] -%}
  {%- elif type in real and value in ('nan', 'inf', '-inf') -%}
    {%- set sql = "cast('" ~ value ~ "' as " ~ type ~ ")" -%}
  {%- elif type in real and fullmatch(number ~ '(e[+-]?[0-9]+)?', value) -%}
    {%- set sql = value ~ real[type] -%}
  {%- elif type[:8] == 'decimal(' and fullmatch(number, value) -%}
    {%- set sql = value ~ 'BD' -%}
  {%- elif type == 'date' and fullmatch(day, value) -%}
    {%- set sql = "date'" ~ value ~ "'" -%}
  {%- elif type == 'timestamp' and fullmatch(moment, value) -%}
    {%- set sql = "timestamp'" ~ value ~ " UTC'" -%}
  {%- elif type == 'timestamp_ntz' and fullmatch(moment, value) -%}
    {%- set sql = "timestamp_ntz'" ~ value ~ "'" -%}
  {%- elif type == 'string' and fullmatch('[A-Za-z0-9 _.:/+@-]*', value) -%}
    {%- set sql = "'" ~ value ~ "'" -%}
  {%- elif type == 'string' -%}
    {%- set sql = "cast(x'" ~ value.encode('utf-8').hex() ~ "' as string)" -%}
  {%- endif -%}
  {{ return(sql) }}
{% endmacro %}


{#- Text as a SQL literal, of which a session that replaces variables finds none. -#}
{% macro _text_literal(value) %}
  {{ return("'" ~ value | replace('\\', '\\\\') | replace("'", "\\'") | replace('${', "$' '{") ~ "'") }}
{% endmacro %}
