{#- dbt-spark's statement writes every column. One that the table fills itself, and the batch leaves out, stays out of it. -#}
{% macro alluvium_incremental_sql(strategy, source, target, existing_relation, unique_key, predicates) %}
  {%- set left_out = alluvium_left_out(source, target) if strategy in ('append', 'insert_overwrite') else [] -%}
  {%- if not left_out -%}
    {{ return(dbt_spark_get_incremental_sql(strategy, source, target, existing_relation, unique_key, predicates)) }}
  {%- endif -%}
  {%- set names = adapter.get_columns_in_relation(target) | rejectattr('name', 'in', left_out) | map(attribute='quoted') | join(', ') -%}
  insert {{ 'into' if strategy == 'append' else 'overwrite' }} table {{ target }} ({{ names }})
  select {{ names }} from {{ source }}
{% endmacro %}


{#- Names of the columns that a Delta table fills itself and a batch leaves out. -#}
{% macro alluvium_left_out(source, target) %}
  {%- set left_out = [] -%}
  {%- if config.get('file_format', 'delta') == 'delta' -%}
    {%- set made = adapter.made_columns(target.render()) -%}
    {%- set selected = adapter.get_columns_in_relation(source) | map(attribute='name') | map('lower') | list if made else [] -%}
    {%- for name in made if name | lower not in selected -%}{%- do left_out.append(name) -%}{%- endfor -%}
  {%- endif -%}
  {{ return(left_out) }}
{% endmacro %}
