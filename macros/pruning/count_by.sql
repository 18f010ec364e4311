{#- select * from {{ alluvium.count_by(ref('edits'), 'channel', min_max='added') }} as counted

    Rows by columns, with the least and the greatest values of others, as a subquery. On the target `alluvium` the log tells of a file
    that has one value of each; the others are read. The rows are the same anywhere. -#}
{% macro count_by(relation, by, where=none, min_max=none) -%}
  {%- set who = 'alluvium.count_by' -%}
  {%- do alluvium._check_arguments('count_by', {}, kwargs, kind='macro') -%}
  {%- set keys = alluvium._column_names(by) -%}
  {%- if not keys -%}
    {%- do exceptions.raise_compiler_error(who ~ ': by names no column; accepted: one column or several') -%}
  {%- endif -%}
  {%- set bounded = alluvium._column_names(min_max) -%}
  {%- set conditions = alluvium._conditions(where, who) | join(' and ') or none -%}
  {%- set columns, names = [], keys + ['row_count'] -%}
  {%- for name in bounded -%}
    {%- do names.extend(['min_' ~ name, 'max_' ~ name]) -%}
  {%- endfor -%}
  {%- if names | map('lower') | unique | list | length != names | length -%}
    {%- do exceptions.raise_compiler_error(who ~ ': two of its columns have one name: ' ~ names | join(', ')
        ~ '; accepted: other columns') -%}
  {%- endif -%}
  {%- set told = none -%}
  {#- dbt stages a snapshot as a view, which cannot read the counts of a session. -#}
  {%- if relation is not string and alluvium._runs_as_compiled() and model.config.materialized != 'snapshot' -%}
    {%- set told = adapter.count_by(relation, keys, conditions, bounded) -%}
  {%- endif -%}
  {%- if told -%}
    {{- told -}}
  {%- else -%}
    {%- set grouped = alluvium._quote_names(keys) -%}
    {%- for name in bounded -%}
      {%- for end in ('min', 'max') -%}
        {%- do columns.append(end ~ '(' ~ alluvium._quote_name(name) ~ ') as ' ~ alluvium._quote_name(end ~ '_' ~ name)) -%}
      {%- endfor -%}
    {%- endfor -%}
    (select {{ (grouped + ['count(*) as row_count'] + columns) | join(', ') }} from {{ relation }}
    {{- ' where ' ~ conditions if conditions }} group by {{ grouped | join(', ') }})
  {%- endif -%}
{%- endmacro %}
