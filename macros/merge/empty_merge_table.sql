{#- A select that has the columns of a merged table and no rows. -#}
{% macro empty_merge_table(node, source) %}
  {%- set columns = [] -%}
  {%- for name in alluvium.event_columns(adapter.get_columns_in_relation(source), alluvium.control_columns(alluvium.merge_settings(node))) -%}
    {%- do columns.append(alluvium.quote_name(name)) -%}
  {%- endfor -%}
  {{ return('select ' ~ columns | join(', ') ~ ' from ' ~ source ~ ' where false') }}
{% endmacro %}
