{#- dbt-spark's statement writes every column. One that the batch may leave out, and does, stays out of it. -#}
{% macro alluvium_incremental_sql(strategy, source, target, existing_relation, unique_key, predicates) %}
  {%- set left_out = alluvium_left_out(source, target) if strategy in ('append', 'insert_overwrite') else [] -%}
  {%- if not left_out -%}
    {{ return(dbt_spark_get_incremental_sql(strategy, source, target, existing_relation, unique_key, predicates)) }}
  {%- endif -%}
  {%- set names = adapter.get_columns_in_relation(target) | rejectattr('name', 'in', left_out) | map(attribute='quoted') | join(', ') -%}
  insert {{ 'into' if strategy == 'append' else 'overwrite' }} table {{ target }} ({{ names }})
  select {{ names }} from {{ source }}
{% endmacro %}


{#- Names of the columns that a batch may leave out: those that a Delta table fills itself, and with append_new_columns
    all. Where they are left out, a new row has NULL there, and a row that is updated keeps what it has. -#}
{% macro alluvium_left_out(source, target) %}
  {%- set left_out = [] -%}
  {%- if config.get('file_format', 'delta') == 'delta' -%}
    {%- set may = adapter.get_columns_in_relation(target) | map(attribute='name') | list
        if config.get('on_schema_change') == 'append_new_columns' else adapter.made_columns(target.render()) -%}
    {%- set selected = adapter.get_columns_in_relation(source) | map(attribute='name') | map('lower') | list if may else [] -%}
    {%- for name in may if name | lower not in selected -%}{%- do left_out.append(name) -%}{%- endfor -%}
  {%- endif -%}
  {{ return(left_out) }}
{% endmacro %}
