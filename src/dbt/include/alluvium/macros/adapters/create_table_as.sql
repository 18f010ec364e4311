{#- SQL models are dbt-spark's, with Delta as the default format. A Python model leaves the same
    statement behind its code: one implementation of partitions, location, properties. -#}
{%- macro alluvium__create_table_as(temporary, relation, compiled_code, language='sql') -%}
  {%- if language == 'python' -%}
    {%- set view = '__alluvium_' ~ relation.identifier -%}
    {%- set sql = alluvium_create_table_sql(relation, 'select * from ' ~ adapter.quote(view)) -%}
{{ compiled_code }}
import json as __alluvium_json
__alluvium_view = __alluvium_json.loads({{ tojson(tojson(view)) }})
__alluvium_sql = __alluvium_json.loads({{ tojson(tojson(sql)) }})
  {%- elif temporary -%}
    {{ create_temporary_view(relation, compiled_code) }}
  {%- else -%}
    {%- set header = config.get('sql_header') or '' -%}
    {%- if header and alluvium_layout() is not none -%}
      {#- The query is analysed before the statement is sent: what it needs comes first. -#}
      {%- do run_query(header) -%}
      {%- set header = '' -%}
    {%- endif -%}
    {%- if alluvium_layout() is not none -%}
      {%- do adapter.check_layout(compiled_code, model.name, alluvium_layout(), config.get('partition_by')) -%}
    {%- endif -%}
    {%- if config.get('partition_by') and config.get('materialized') == 'table' -%}
      {%- do adapter.check_named_columns(model, none, compiled_code) -%}
    {%- endif -%}
    {{ header }}
    {{ alluvium_create_table_sql(relation, compiled_code) }}
  {%- endif -%}
{%- endmacro -%}


{%- macro alluvium_create_table_sql(relation, compiled_code) -%}
  {%- set contract_config = config.get('contract') -%}
  {%- if contract_config.enforced -%}
    {{ get_assert_columns_equivalent(compiled_code) }}
    {%- set compiled_code = get_select_subquery(compiled_code) ~ alluvium_constraints_guard(relation) %}
  {% endif %}
  {%- if alluvium_layout() is not none -%}
    {%- set compiled_code = adapter.with_bucket_column(compiled_code, model.name, alluvium_layout(), config.get('partition_by')) -%}
  {%- endif -%}
  {{ alluvium_create_table_header(relation) }}
  {{ compiled_code }}
{%- endmacro -%}


{#- `meta.alluvium_layout` of the model that is built; none for other nodes. -#}
{%- macro alluvium_layout() -%}
  {{ return((config.get('meta') or {}).get('alluvium_layout') if model.resource_type == 'model' else none) }}
{%- endmacro -%}


{#- A table is replaced in one commit where its format can do that: it is never missing. -#}
{%- macro alluvium_create_table_header(relation) -%}
  create {{ 'or replace ' if config.get('file_format', 'delta') in ('delta', 'iceberg') }}table {{ relation }}
  {{ file_format_clause() }}
  {{ options_clause() }}
  {{ tblproperties_clause() }}
  {{ partition_cols(label="partitioned by") }}
  {{ clustered_cols(label="clustered by") }}
  {{ location_clause() }}
  {{ comment_clause() }}
  as
{%- endmacro -%}
