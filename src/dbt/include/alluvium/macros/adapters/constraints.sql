{#- Contracts' constraints. Delta enforces CHECK on every later write. The first write has them as a filter that fails:
    so a broken rule leaves the table as it was. (Delta cannot turn a column of an existing table into NOT NULL: that
    rule is a CHECK too.) -#}
{% macro alluvium__persist_constraints(relation, model) %}
  {%- if config.get('contract').enforced and config.get('file_format', 'delta') == 'delta' -%}
    {%- for rule in alluvium_constraints(model) -%}
      {%- do run_query("alter table " ~ relation.render() ~ " add constraint " ~ adapter.quote(rule.name)
          ~ " check (" ~ rule.expression ~ "\n)") -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}


{#- The rules that Delta can enforce, as name and expression; a warning for each of the others. -#}
{% macro alluvium_constraints(model) %}
  {%- set rules = [] -%}
  {%- set not_null = [] -%}
  {%- for column in [none] + model.columns | list -%}
    {%- for constraint in (model.constraints if column is none else model.columns[column].constraints) -%}
      {%- if constraint.type == 'not_null' -%}
        {%- for name in (constraint.columns if column is none else [column]) -%}
          {%- do not_null.append(adapter.quote(adapter.bare(name)) ~ ' is not null') -%}
        {%- endfor -%}
      {%- elif constraint.type == 'check' -%}
        {%- set name = constraint.name or 'check_' ~ local_md5(constraint.expression)[:8] -%}
        {%- do rules.append({'name': name, 'expression': constraint.expression}) -%}
      {%- elif constraint.warn_unsupported -%}
        {%- do exceptions.warn(model.name ~ ": the " ~ constraint.type ~ " constraint"
            ~ ("" if column is none else " of " ~ column) ~ " is not enforced; accepted: check, not_null") -%}
      {%- endif -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- if not_null -%}
    {%- do rules.insert(0, {'name': 'not_null', 'expression': not_null | join(' and ')}) -%}
  {%- endif -%}
  {{ return(rules) }}
{% endmacro %}


{#- The filter of the first write: it passes every row, or fails. -#}
{% macro alluvium_constraints_guard(relation) -%}
  {%- for rule in alluvium_constraints(model) %}
  {{ 'where' if loop.first else 'and' }} if({{ rule.expression }}
    , true, raise_error(
    {{ adapter.literal(relation ~ ": the constraint " ~ rule.name ~ " (" ~ rule.expression ~ ") is violated") }}))
  {%- endfor %}
{%- endmacro %}


{#- Contracts' columns. YAML may have their names with backticks or without, and in another case than the query: to
    Spark that is one column. The table has the contract's. -#}
{% macro alluvium__format_column(column) -%}
  {%- set name = column.name | lower -%}
  {{ return({'name': name, 'data_type': column.dtype, 'formatted': name ~ ' ' ~ column.dtype}) }}
{%- endmacro %}


{% macro alluvium__get_empty_schema_sql(columns) -%}
  {%- set quoted = {} -%}
  {%- for key, column in columns.items() -%}
    {%- do quoted.update({key: dict(column, name=adapter.bare(column['name']), quote=true)}) -%}
  {%- endfor -%}
  {{ return(dbt.default__get_empty_schema_sql(quoted)) }}
{%- endmacro %}


{% macro alluvium__get_column_names() -%}
  {%- set names = [] -%}
  {%- for name in model.columns -%}{%- do names.append(adapter.quote(adapter.bare(name))) -%}{%- endfor -%}
  {{ return(names | join(', ')) }}
{%- endmacro %}
