{#- A column's name, as a user writes it, as an identifier. -#}
{% macro _quote(name) %}
  {{ return(alluvium._quote_name(alluvium._bare(name))) }}
{% endmacro %}


{#- A column's name, as it is stored, as an identifier, whatever it holds. -#}
{% macro _quote_name(name) %}
  {{ return('`' ~ name | replace('`', '``') ~ '`') }}
{% endmacro %}


{#- Names of columns, as they are stored, as identifiers. -#}
{% macro _quote_names(names) %}
  {%- set quoted = [] -%}
  {%- for name in names -%}{%- do quoted.append(alluvium._quote_name(name)) -%}{%- endfor -%}
  {{ return(quoted) }}
{% endmacro %}


{#- The name that a setting means: with or without the backticks that SQL asks for. Names are compared by `lower`, which
    is Spark's rule for them. They stand in SQL as they are written: not every one is found by its lower case. -#}
{% macro _bare(name) %}
  {{ return(name[1:-1] | replace('``', '`') if name is string and name[:1] == '`' and name[-1:] == '`' and name | length > 2 else name) }}
{% endmacro %}


{#- The names of a setting that takes one column or several. An empty text names none. -#}
{% macro _column_names(value) %}
  {%- set names = [] -%}
  {%- for name in alluvium._as_list(value or none) -%}{%- do names.append(alluvium._bare(name)) -%}{%- endfor -%}
  {{ return(names) }}
{% endmacro %}


{#- A setting that takes one value or several, as a list. -#}
{% macro _as_list(value) %}
  {{ return([] if value is none else ([value] if value is string else value | list)) }}
{% endmacro %}
