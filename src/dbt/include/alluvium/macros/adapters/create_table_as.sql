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
    {{ config.get('sql_header') or '' }}
    {{ alluvium_create_table_sql(relation, compiled_code) }}
  {%- endif -%}
{%- endmacro -%}


{%- macro alluvium_create_table_sql(relation, compiled_code) -%}
  {%- set contract_config = config.get('contract') -%}
  {%- if contract_config.enforced -%}
    {{ get_assert_columns_equivalent(compiled_code) }}
    {%- set compiled_code = get_select_subquery(compiled_code) ~ alluvium_constraints_guard(relation) %}
  {% endif %}
  {{ alluvium_create_table_header(relation) }}
  {{ compiled_code }}
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
