{#- SQL of a text as a value of a type; NULL where it is none. Nothing is rounded, and no value stands for another.

    x: SQL of the text. unit: SQL of the schema envelope's `name`, `type` and `scale` for the column, none where there is no such envelope.
    how: what the user says of `timestamps`, `decimals` and `binary`, and whether MongoDB wrote the text. hex: SQL of a decimal's bytes. -#}
{% macro _typed_value(type, x, how, unit=none, depth=0, hex=none, in_nested=false) %}
  {%- set kind = type.kind -%}
  {%- if type.nested -%}{{ return(alluvium._typed_nested(type, x, how, unit, depth)) }}{%- endif -%}
  {%- if in_nested and kind in ('string', 'decimal', 'float', 'double') -%}
    {%- set x = 'if(contains(' ~ x ~ ", '__alluvium_number:'), " ~ alluvium._unmarked(x) ~ ', ' ~ x ~ ')' -%}
  {%- endif -%}
  {%- if how.mongodb and kind != 'binary' -%}{%- set x = alluvium._bson_text(x) -%}{%- endif -%}
  {%- if kind == 'string' -%}
    {{ return(x) }}
  {%- elif kind == 'boolean' -%}
    {{ return("case " ~ x ~ " when 'true' then true when 'false' then false when '1' then true when '0' then false end") }}
  {%- elif kind in ('tinyint', 'smallint', 'int', 'bigint') -%}
    {{ return('try_cast(' ~ x ~ ' as ' ~ kind ~ ')') }}
  {%- elif kind in ('float', 'double') -%}
    {%- set infinite = "cast('Infinity' as " ~ kind ~ ')' -%}
    {{ return('case when ' ~ x ~ " in ('NaN', 'Infinity', '-Infinity') then try_cast(" ~ x ~ ' as ' ~ kind ~ ') when ' ~ x
        ~ " rlike '^[+-]?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$' then nullif(nullif(try_cast(" ~ x ~ ' as ' ~ kind ~ '), '
        ~ infinite ~ '), -' ~ infinite ~ ') end') }}
  {%- elif kind == 'decimal' -%}
    {{ return(alluvium._typed_decimal(type, x, how.decimals, unit, hex)) }}
  {%- elif kind == 'binary' -%}
    {{ return(alluvium._typed_binary(x, how)) }}
  {%- elif kind == 'date' -%}
    {{ return(alluvium._typed_date(x, how.timestamps)) }}
  {%- endif -%}
  {{ return(alluvium._typed_timestamp(kind, x, how.timestamps, unit)) }}
{% endmacro %}


{#- Bytes. A schema envelope does not say how they are written where they are a text. -#}
{% macro _typed_binary(x, how) %}
  {%- if how.mongodb -%}
    {%- set x = 'regexp_extract(' ~ x ~ ", '\"([$]binary|base64)\"\\\\s*:\\\\s*\"([^\"]*)\"', 2)" -%}
    {{ return("try_to_binary(nullif(" ~ x ~ ", ''), 'base64')") }}
  {%- elif how.binary == 'hex' -%}
    {#- Half a byte would be one. -#}
    {{ return('try_to_binary(if(length(' ~ x ~ ') % 2 = 0, ' ~ x ~ ", null), 'hex')") }}
  {%- elif how.binary == 'base64-url-safe' -%}
    {{ return('try_to_binary(translate(' ~ x ~ ", '-_', '+/'), 'base64')") }}
  {%- endif -%}
  {{ return('try_to_binary(' ~ x ~ ", 'base64')") }}
{% endmacro %}


{#- What stands in `{"$numberLong":"7"}` and the like, of v1 and v2; other texts are themselves. -#}
{% macro _bson_text(x) %}
  {%- set object = '(?s)^[{]"[$](?:oid|date|number(?:Long|Int|Double|Decimal)|symbol|uuid)":(?:[{]"[$]numberLong":)?(?:"((?:[^"\\\\]|\\\\.)*+)"|(-?[0-9.eE+-]+))[}]{1,2}$' -%}
  {{ return('replace(if(' ~ x ~ " like '{\"$%', regexp_replace(" ~ x ~ ', ' ~ alluvium._text_literal(object) ~ ", '$1$2'), " ~ x ~ "), '__alluvium_text:', '')") }}
{% endmacro %}


{#- MongoDB's document, in which a text that looks like such an object begins with a mark. A quote before a bracket begins a text. -#}
{% macro _mark_texts(text) %}
  {%- set like = alluvium._text_literal('"([{]\\s*\\\\"[$])') -%}
  {{ return('if(' ~ text ~ ' rlike ' ~ like ~ ', regexp_replace(' ~ text ~ ', ' ~ like ~ ", '\"__alluvium_text:$1'), " ~ text ~ ')') }}
{% endmacro %}


{#- An array, a map or a struct, whose JSON was read with a text for each value. One wrong value makes all of it NULL. -#}
{% macro _typed_nested(type, x, how, unit, depth) %}
  {%- if type.kind == 'struct' -%}
    {%- set wrong, values = [x ~ ' is null'], [] -%}
    {%- for name, of in type.fields.items() -%}
      {%- set field = x ~ '.' ~ alluvium._quote_name(name) -%}
      {%- set value = alluvium._typed_value(of, field, how, none, depth, in_nested=true) -%}
      {%- do wrong.append(field ~ ' is not null and ' ~ value ~ ' is null') -%}
      {%- do values.append(alluvium._text_literal(name) ~ ', ' ~ value) -%}
    {%- endfor -%}
    {{ return('case when not (' ~ wrong | join(' or ') ~ ') then named_struct(' ~ values | join(', ') ~ ') end') }}
  {%- endif -%}
  {%- set y = 'y' ~ depth -%}
  {%- set value = alluvium._typed_value(type.of, y, how, unit, depth + 1, in_nested=true) -%}
  {%- set values, change, of = (x, 'transform', y) if type.kind == 'array' else ('map_values(' ~ x ~ ')', 'transform_values', '(k' ~ depth ~ ', ' ~ y ~ ')') -%}
  {{ return('case when not exists(' ~ values ~ ', ' ~ y ~ ' -> ' ~ y ~ ' is not null and ' ~ value ~ ' is null) then '
      ~ change ~ '(' ~ x ~ ', ' ~ of ~ ' -> ' ~ value ~ ') end') }}
{% endmacro %}
