{% macro alluvium__load_csv_rows(model, agate_table) %}
  {%- set overrides = model['config'].get('column_types', {}) -%}
  {%- set types = {} -%}
  {%- for name in agate_table.column_names -%}
    {%- do types.update({name: overrides.get(name, adapter.convert_type(agate_table, loop.index0))}) -%}
  {%- endfor -%}
  {%- do adapter.load_seed(this, agate_table, types) -%}
  {{ return('-- ' ~ (agate_table.rows | length) ~ ' rows loaded into ' ~ this.render()) }}
{% endmacro %}


{% macro alluvium__get_binding_char() %}
  {{ return('?') }}
{% endmacro %}
