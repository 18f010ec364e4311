{#- Descriptions are text of any kind: escaped as Spark reads a literal. -#}
{% macro alluvium__comment_clause() %}
  {%- set persisted = config.get('persist_docs', {}) -%}
  {%- if persisted is not mapping -%}
    {%- do exceptions.raise_compiler_error("persist_docs: " ~ persisted ~ "; accepted: a mapping of `relation` and `columns`") -%}
  {%- elif persisted.get('relation') and model.description %}
    comment {{ adapter.literal(model.description) }}
  {%- endif -%}
{% endmacro %}


{#- Names of columns as they are stored: YAML may have them in backticks, and in another case. -#}
{% macro alluvium__persist_docs(relation, model, for_relation, for_columns) %}
  {%- if for_columns and config.persist_column_docs() and model.columns -%}
    {%- set described = {} -%}
    {%- for name, column in model.columns.items() -%}
      {%- do described.update({adapter.bare(name): dict(column, quote=false)}) -%}
    {%- endfor -%}
    {%- set existing = adapter.get_columns_in_relation(relation) | map(attribute='name') | list -%}
    {%- do alter_column_comment(relation, validate_doc_columns(relation, described, existing)) -%}
  {%- endif -%}
{% endmacro %}


{#- One statement for all columns whose description changed: each is a commit. A view has its own. -#}
{% macro alluvium__alter_column_comment(relation, column_dict) %}
  {%- if not relation.is_view -%}
    {%- set present = {} -%}
    {%- for column in adapter.get_columns_in_relation(relation) -%}
      {%- do present.update({column.name | lower: column.comment or ''}) -%}
    {%- endfor -%}
    {%- set changes = [] -%}
    {%- for name in column_dict if present.get(name | lower) != (column_dict[name]['description'] or '') -%}
      {%- do changes.append(adapter.quote(name) ~ " comment " ~ adapter.literal(column_dict[name]['description'])) -%}
    {%- endfor -%}
    {%- if changes -%}
      {%- do run_query("alter table " ~ relation.render() ~ " alter column " ~ changes | join(', ')) -%}
    {%- endif -%}
  {%- endif -%}
{% endmacro %}
