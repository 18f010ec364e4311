{#- NULL where the value does not fit: under ANSI a plain cast fails. A literal of a complex type comes
    as text (of a unit test, say) and is that type already. -#}
{% macro alluvium__safe_cast(field, type) -%}
  {%- if field is string and cast_from_string_unsupported_for(type) -%}
    {%- set text = field.strip('"') -%}
    {%- if text[:1] == "'" and text[-1:] == "'" -%}
      {#- dbt has escaped what stands in it, as if it were to stay a text. -#}
      {%- set text = text[1:-1] | replace("\\'", "'") | replace('\\\\', '\\') -%}
    {%- endif -%}
    cast({{ text }} as {{ type }})
  {%- else -%}
    try_cast({{ field }} as {{ type }})
  {%- endif -%}
{%- endmacro %}
