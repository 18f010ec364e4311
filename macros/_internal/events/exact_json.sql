{#- SQL of a JSON text as `from_json` is to read it; `__alluvium_end` is then NULL where something stands behind the object, or it is no JSON.

    Spark's parser stops at the end of the first object. So a field goes in before the last bracket of the text: it belongs to the first object
    only where nothing follows that. And Spark copies a number into a text by way of a double. So numbers that would change become texts with a
    mark, and the field's value is 2. -#}
{% macro _exact_json(text) %}
  {{ return('if(' ~ alluvium._has_inexact(text) ~ ', ' ~ alluvium._mark_numbers(alluvium._with_end(text, 2)) ~ ', ' ~ alluvium._with_end(text, 1) ~ ')') }}
{% endmacro %}


{#- A field before the last bracket. An empty object is no JSON then. A part of bytes is copied at once; a part of a text is counted first. -#}
{% macro _with_end(text, value) %}
  {%- set field = ", ',\"__alluvium_end\":" ~ value ~ "}')" -%}
  {{ return('if(' ~ text ~ " like '%}', concat(cast(substring(cast(" ~ text ~ ' as binary), 1, octet_length(' ~ text ~ ') - 1) as string)' ~ field ~ ', regexp_replace(' ~ text ~ ", '[}]\\\\s*$'" ~ field ~ ')') }}
{% endmacro %}


{#- A part of JSON whose numbers, if a double would change them, are texts with a mark. -#}
{% macro _exact_part(text) %}
  {{ return('if(' ~ alluvium._has_inexact(text) ~ ', ' ~ alluvium._mark_numbers(text) ~ ', ' ~ text ~ ')') }}
{% endmacro %}


{#- Condition for JSON with a number that a double may write otherwise: with over 15 digits, an exponent, a zero at its end, or very small or large. -#}
{% macro _has_inexact(text) %}
  {{ return('(' ~ text ~ ' rlike ' ~ alluvium._text_literal('[:,\\[]\\s*+(?=-?[0-9]++[.eE])' ~ alluvium._inexact_number()) ~ ' and not contains(' ~ text ~ ", '__alluvium_number:'))") }}
{% endmacro %}


{% macro _inexact_number() %}
  {{ return('-?(?:(?=[0-9.]{17})[0-9]+[.][0-9]+|[0-9]{8,}[.][0-9]+|0[.]000[0-9]*|[0-9]+[.][0-9]*0(?![0-9])(?<![.]0)|[0-9]+(?:[.][0-9]+)?(?=[eE]))(?:[eE][+-]?[0-9]+)?') }}
{% endmacro %}


{#- Between two of these numbers stand whole texts, so none is found in a text. Loops take no stack: a text may have 20 MB. -#}
{% macro _mark_numbers(text) %}
  {%- set number = alluvium._inexact_number() -%}
  {%- set other = '"(?:[^"\\\\]++|\\\\.)*+"|[^"0-9-]++|(?!' ~ number ~ ')-?[0-9][0-9.eE+-]*+' -%}
  {{ return('regexp_replace(' ~ text ~ ', ' ~ alluvium._text_literal('(?s)\\G((?:' ~ other ~ ')*+)(' ~ number ~ ')') ~ ", '$1\"__alluvium_number:$2\"')") }}
{% endmacro %}


{#- A text without marks: a number, or JSON with numbers. -#}
{% macro _unmarked(text) %}
  {{ return('regexp_replace(' ~ text ~ ", '\"?__alluvium_number:([-+.0-9eE]+)\"?', '$1')") }}
{% endmacro %}


{#- A struct's fields without marks, where `marked` holds. -#}
{% macro _unmarked_fields(marked, struct, names) %}
  {%- set fields = [] -%}
  {%- for name in names -%}
    {%- do fields.append(alluvium._text_literal(name) ~ ', ' ~ alluvium._unmarked(struct ~ '.' ~ alluvium._quote_name(name))) -%}
  {%- endfor -%}
  {{ return('if(' ~ marked ~ ' and ' ~ struct ~ ' is not null, named_struct(' ~ fields | join(', ') ~ '), ' ~ struct ~ ')') }}
{% endmacro %}


{#- Condition for an event that has marks. -#}
{% macro _is_marked() %}
  {{ return("coalesce(`__alluvium_p`.`__alluvium_end` = '2', false)") }}
{% endmacro %}
