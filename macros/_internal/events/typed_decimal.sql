{#- A decimal: base64 of its bytes, `{"scale":3,"value":"EjRW"}`, a text, a number. NULL where it has more digits than the type, and where
    nobody says whether `1234` is base64. hex: SQL of the bytes, if a step before has them. -#}
{% macro _typed_decimal(type, x, mode, unit=none, hex=none) %}
  {%- set sql = 'as decimal(' ~ type.precision ~ ', ' ~ type.scale ~ '))' -%}
  {#- try_cast rounds, so what it would round is left out before. -#}
  {%- set written = 'when ' ~ x ~ " rlike '^[+-]?[0-9]+([.][0-9]{0," ~ type.scale ~ "}0*)?$' then try_cast(" ~ x ~ ' ' ~ sql ~ ' when ' ~ x
      ~ " rlike '^[+-]?[0-9]+([.][0-9]+)?[eE][+-]?[0-9]+$' then if(length(regexp_extract(" ~ x ~ ", '[.]([0-9]*?)0*[eE]', 1)) - try_cast(regexp_extract("
      ~ x ~ ", '[eE](.+)$', 1) as int) <= " ~ type.scale ~ ', try_cast(' ~ x ~ ' ' ~ sql ~ ', null)' -%}
  {%- if mode in ('string', 'double') and unit is none -%}{{ return('case ' ~ written ~ ' end') }}{%- endif -%}
  {%- set rule = {'precise': 'true', 'string': 'false', 'double': 'false'}.get(mode, 'cast(null as boolean)') -%}
  {%- set is_bytes = 'case when ' ~ unit ~ ".name = 'org.apache.kafka.connect.data.Decimal' then true when " ~ unit ~ '.type is not null then false else '
      ~ rule ~ ' end' if unit is not none else rule -%}
  {%- set scale = 'coalesce(' ~ unit ~ '.scale, ' ~ type.scale ~ ')' if unit is not none else type.scale -%}
  {%- set scale = 'if(' ~ x ~ " like '{%', try_cast(get_json_object(" ~ x ~ ", '$.scale') as int), " ~ scale ~ ')' -%}
  {%- set whole = alluvium._whole_of_bytes(hex or alluvium._hex_of_decimal(x), type.precision > 18) -%}
  {%- set exact = scale ~ ' <= ' ~ type.scale ~ ' or ' ~ whole ~ " rlike concat('^-?0*$|0{', " ~ scale ~ ' - ' ~ type.scale ~ ", '}$')" -%}
  {{ return('case when ' ~ x ~ " like '{%' or coalesce(" ~ is_bytes ~ ', ' ~ x ~ " not rlike '^([+-]?[0-9]+([.]|$|[eE][+-]?[0-9]+$)|(true|null|Infinity)$)') then if(" ~ exact
      ~ ', try_cast(concat(' ~ whole ~ ", 'E', -(" ~ scale ~ ')) ' ~ sql ~ ', null) when ' ~ is_bytes ~ ' is null and length(' ~ x ~ ') % 4 = 0 and ' ~ x
      ~ ' rlike ' ~ alluvium._number_or_base64() ~ ' then null ' ~ written ~ ' end') }}
{% endmacro %}


{#- The pattern of a text that may be a number, and base64 where it has four letters, or eight and so on. -#}
{% macro _number_or_base64() %}
  {{ return("'^[+]?[0-9]+([eE][+]?[0-9]+)?$'") }}
{% endmacro %}


{#- The bytes of a decimal, of its text in base64 or beside its scale. -#}
{% macro _hex_of_decimal(x) %}
  {#- Some decoders take a text without its padding, such as NaN. A text that is no base64 at all would cost an error. -#}
  {{ return('hex(try_to_binary(case when ' ~ x ~ " like '{%' then get_json_object(" ~ x ~ ", '$.value') when length(" ~ x ~ ') % 4 = 0 and ' ~ x
      ~ " rlike '^[A-Za-z0-9+/]+={0,2}$' then " ~ x ~ " end, 'base64'))") }}
{% endmacro %}


{#- The text of the whole number that has these bytes, in two's complement, the highest first. Numbers of 18 digits have 8 bytes. -#}
{% macro _whole_of_bytes(hex, is_long) %}
  {%- set sign = 'if(left(' ~ hex ~ ", 1) >= '8', 'F', '0')" -%}
  {%- set short = 'when length(' ~ hex ~ ') between 1 and 16 then conv(lpad(' ~ hex ~ ', 16, ' ~ sign ~ '), 16, -10)' -%}
  {%- if not is_long -%}{{ return('case ' ~ short ~ ' end') }}{%- endif -%}
  {#- Of a negative number the digits of -1 - n, so that no step is beyond 38 digits. -#}
  {%- set is_negative = 'left(' ~ hex ~ ", 1) >= '8'" -%}
  {%- set long = 'lpad(if(' ~ is_negative ~ ', translate(' ~ hex ~ ", '0123456789ABCDEF', 'FEDCBA9876543210'), " ~ hex ~ "), 32, '0')" -%}
  {%- set half = 'cast(conv(%s(' ~ long ~ ', 16), 16, 10) as decimal(20, 0))' -%}
  {%- set total = 'try_add(try_multiply(' ~ half.replace('%s', 'left') ~ ', 18446744073709551616BD), ' ~ half.replace('%s', 'right') ~ ')' -%}
  {{ return('case ' ~ short ~ ' when length(' ~ hex ~ ') between 17 and 32 then cast(try_subtract(try_multiply(if(' ~ is_negative ~ ', -1BD, 1BD), ' ~ total
      ~ '), if(' ~ is_negative ~ ', 1BD, 0BD)) as string) end') }}
{% endmacro %}
