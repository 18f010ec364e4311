{#- A select that has the columns of a merged table and no rows. -#}
{% macro _empty_merge_table(node, source) %}
  {%- set names = alluvium._event_columns(adapter.get_columns_in_relation(source), alluvium._control_columns(alluvium._merge_settings(node))) -%}
  {{ return('select ' ~ alluvium._quote_names(names) | join(', ') ~ ' from ' ~ source ~ ' where false') }}
{% endmacro %}
