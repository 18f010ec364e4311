{% macro alluvium__create_view_as(relation, sql) -%}
  {%- do adapter.check_no_stream(relation, sql) -%}
  {{ config.get('sql_header') or '' }}
  create or replace view {{ relation }}
  {%- if config.persist_column_docs() %}
    {%- set described = {} -%}
    {%- for name in model.columns -%}
      {%- do described.update({adapter.bare(name) | lower: model.columns[name]['description']}) -%}
    {%- endfor %} (
    {%- for name in get_columns_in_query(sql) -%}
      {{ adapter.quote(name) }}
      {%- if described.get(name | lower) %} comment {{ adapter.literal(described[name | lower]) }}{% endif -%}
      {{ ', ' if not loop.last }}
    {%- endfor -%}
    )
  {%- endif %}
  {{ comment_clause() }}
  {%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(sql) }}
  {%- endif %}
  as
    {{ sql }}
{% endmacro %}
