{#- dbt-spark writes the names as they stand. Iceberg's may be what it makes of columns. -#}
{% macro alluvium__partition_cols(label, required=false) %}
  {%- if config.get('file_format', 'delta') != 'delta' -%}
    {{ return(dbt.spark__partition_cols(label, required)) }}
  {%- endif -%}
  {%- set names = [] -%}
  {%- for name in config.get('partition_by') or [] -%}{%- do names.append(adapter.quote(adapter.bare(name))) -%}{%- endfor -%}
  {%- if names %}
    {{ label }} ({{ names | join(', ') }})
  {%- endif %}
{%- endmacro -%}
