{#- A select that has the columns of a merged table and no rows. -#}
{% macro _empty_merge_table(node, source) %}
  {%- set columns = [] -%}
  {%- for name in alluvium._event_columns(adapter.get_columns_in_relation(source), alluvium._control_columns(alluvium._merge_settings(node))) -%}
    {%- do columns.append(alluvium._quote_name(name)) -%}
  {%- endfor -%}
  {{ return('select ' ~ columns | join(', ') ~ ' from ' ~ source ~ ' where false') }}
{% endmacro %}
