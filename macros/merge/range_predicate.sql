{#- SQL that is true of every non-null value of `column` inside one of `ranges`.

    ranges: range rows (docs/ranges.md) as mappings, or the relation that holds them.
    No rows, or a row that has no literal, gives `true`: a range may never hide a match. -#}
{% macro range_predicate(ranges, column, alias=none) %}
  {%- if ranges is string or ranges.identifier is defined -%}
    {%- set ranges = alluvium._range_rows(ranges) -%}
  {%- endif -%}
  {%- set name = (alias ~ '.' if alias else '') ~ alluvium._quote(column) -%}
  {%- set terms = [] -%}
  {%- set unknown = [] -%}
  {%- for row in ranges if row.get('column_name', column) | lower == column | lower -%}
    {%- set bounds = alluvium._told(row.lo, row.hi, row.column_type) -%}
    {%- set lo = alluvium._sql_literal(bounds[0], row.column_type) -%}
    {%- set hi = alluvium._sql_literal(bounds[1], row.column_type) -%}
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
