{#- SQL that is true of every non-null value of `column` inside one of `ranges`.

    ranges: range rows (docs/ranges.md) as mappings, or the relation that holds them.
    No rows, or a row that has no literal, gives `true`: a range may never hide a match. -#}
{% macro range_predicate(ranges, column, alias=none) %}
  {%- if ranges is string or ranges.identifier is defined -%}
    {%- set ranges = alluvium.range_rows(ranges) -%}
  {%- endif -%}
  {%- set name = (alias ~ '.' if alias else '') ~ alluvium.quote(column) -%}
  {%- set terms = [] -%}
  {%- set unknown = [] -%}
  {%- for row in ranges if row.get('column_name', column) | lower == column | lower -%}
    {%- set lo = alluvium.sql_literal(row.lo, row.column_type) -%}
    {%- set hi = alluvium.sql_literal(row.hi, row.column_type) -%}
    {%- if lo is none or hi is none -%}
      {%- do unknown.append(row) -%}
    {%- elif lo == hi -%}
      {%- do terms.append(name ~ ' = ' ~ lo) -%}
    {%- else -%}
      {%- do terms.append(name ~ ' between ' ~ lo ~ ' and ' ~ hi) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return('true' if unknown or not terms else '(' ~ terms | join(' or ') ~ ')') }}
{% endmacro %}


{#- The rows of a ranges model, in order. JSON keeps every bound as the text that it is, and drops NULLs. -#}
{% macro range_rows(relation) %}
  {%- if not execute -%}{{ return([]) }}{%- endif -%}
  {{ return(fromjson(run_query(alluvium.range_rows_sql(relation)).rows[0][0] or '[]')) }}
{% endmacro %}

{% macro range_rows_sql(relation) %}
  {{ return('select to_json(sort_array(collect_list(struct(range_no as place, *))), map(\'ignoreNullFields\', \'false\')) from ' ~ relation) }}
{% endmacro %}
