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


{#- Bounds between which a file's statistics show a value that lies between `lo` and `hi`; none and none where they exclude no file.
    `alluvium.plan.ranges.literal.told` says why. Bounds that are no text of the type stay as they are. -#}
{% macro _told(lo, hi, type) %}
  {%- set matched = modules.re.match -%}
  {%- if lo is none or hi is none or (hi == 'nan' and type in ('float', 'double')) -%}
    {{ return([none, none]) }}
  {%- elif type == 'double' -%}
    {{ return([alluvium._farther_double(lo, -1), alluvium._farther_double(hi, 1)]) }}
  {%- elif lo == '0.0' and type == 'float' -%}
    {{ return(['-0.0', hi]) }}
  {%- elif type == 'string' -%}
    {%- set ascii = matched('[\x00-\x7f]*', hi).group() -%}
    {%- set more = hi | length - ascii | length -%}
    {{ return([matched('[^\ufffd-\U0010ffff]*', lo).group(), ascii ~ '\U0010ffff' * (more + 1) if more else hi]) }}
  {%- elif type[:8] == 'decimal(' -%}
    {{ return([alluvium._wider_decimal(lo, -1, type), alluvium._wider_decimal(hi, 1, type)]) }}
  {%- endif -%}
  {{ return([lo, hi]) }}
{% endmacro %}


{% macro _farther_double(text, sign) %}
  {%- if not modules.re.fullmatch('-?[0-9]+([.][0-9]+)?(e[+-]?[0-9]+)?', text) -%}{{ return(text) }}{%- endif -%}
  {%- set number = text | float -%}
  {{ return((number + sign * (number | abs * 2 ** -23 + 1.5e-45)) | string) }}
{% endmacro %}


{% macro _wider_decimal(text, sign, type) %}
  {%- set parts = modules.re.fullmatch('decimal[(]([0-9]+),([0-9]+)[)]', type) -%}
  {%- if not parts or not modules.re.fullmatch('-?[0-9]+([.][0-9]+)?', text) -%}{{ return(text) }}{%- endif -%}
  {%- set number = text | replace('.', '') | int -%}
  {%- set margin = number | abs // 10 ** 15 * 10 -%}
  {%- if not margin -%}{{ return(text) }}{%- endif -%}
  {%- set most = 10 ** (parts.group(1) | int) - 1 -%}
  {%- set number = [-most, [most, number + sign * margin] | min] | max -%}
  {%- set scale = parts.group(2) | int -%}
  {%- set digits = (number | abs | string).rjust(scale + 1, '0') -%}
  {%- set whole = digits[:digits | length - scale] -%}
  {{ return(('-' if number < 0 else '') ~ whole ~ ('.' ~ digits[whole | length:] if scale else '')) }}
{% endmacro %}


{#- Text as a SQL literal, of which a session that replaces variables finds none. -#}
{% macro _text_literal(value) %}
  {{ return("'" ~ value | replace('\\', '\\\\') | replace("'", "\\'") | replace('${', "$' '{") ~ "'") }}
{% endmacro %}
