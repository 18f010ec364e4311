{#- A column without a type gets that of its first value, as a new column is added. The columns by their names: Delta makes a star of names that hold a backtick into SQL it cannot read. -#}
{% macro alluvium__snapshot_merge_sql(target, source, insert_cols) %}
  {%- do adapter.give_types(source.render(), target.render()) -%}
  {%- set stored = adapter.get_columns_in_relation(target) | map(attribute='quoted') | map('lower') | list -%}
  {%- set names = [] -%}
  {%- for name in insert_cols if name | lower in stored -%}{%- do names.append(name) -%}{%- endfor -%}
  {{ return(alluvium_insert_listed(dbt.spark__snapshot_merge_sql(target, source, insert_cols), names)) }}
{% endmacro %}
