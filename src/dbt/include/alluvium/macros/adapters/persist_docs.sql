{#- Descriptions are text of any kind: escaped as Spark reads a literal. -#}
{% macro alluvium__comment_clause() %}
  {%- set persisted = config.get('persist_docs', {}) -%}
  {%- if persisted is not mapping -%}
    {%- do exceptions.raise_compiler_error("persist_docs must be a mapping of `relation` and `columns`, not " ~ persisted) -%}
  {%- elif persisted.get('relation') and model.description %}
    comment {{ adapter.literal(model.description) }}
  {%- endif -%}
{% endmacro %}


{#- One statement for all columns whose description changed: each is a commit. A view has its own. -#}
{% macro alluvium__alter_column_comment(relation, column_dict) %}
  {%- if not relation.is_view -%}
    {%- set present = {} -%}
    {%- for row in run_query("describe table " ~ relation.render()).rows -%}
      {%- do present.setdefault(row[0] | lower, row[2] or '') -%}
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
