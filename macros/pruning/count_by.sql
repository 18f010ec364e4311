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
  {#- A view would keep the numbers of the day on which it was made, and an ephemeral model may become part of one. What runs before
      the query, behind this, may change what it finds. -#}
  {%- if execute and target.type == 'alluvium' and model is defined and relation is not string
      and (model.config.materialized in ('table', 'incremental', 'snapshot', 'test') or model.resource_type == 'sql_operation')
      and model.config.store_failures_as != 'view' and not model.config.sql_header
      and not (model.config['pre-hook'] or model.config.pre_hook) -%}
    {%- set told = adapter.count_by(relation, keys, conditions, bounded) -%}
  {%- endif -%}
  {%- if told -%}
    {{- told -}}
  {%- else -%}
    {%- set grouped = [] -%}
    {%- for name in keys -%}{%- do grouped.append(alluvium._quote_name(name)) -%}{%- endfor -%}
    {%- for name in bounded -%}
      {%- for end in ('min', 'max') -%}
        {%- do columns.append(end ~ '(' ~ alluvium._quote_name(name) ~ ') as ' ~ alluvium._quote_name(end ~ '_' ~ name)) -%}
      {%- endfor -%}
    {%- endfor -%}
    (select {{ (grouped + ['count(*) as row_count'] + columns) | join(', ') }} from {{ relation }}
    {{- ' where ' ~ conditions if conditions }} group by {{ grouped | join(', ') }})
  {%- endif -%}
{%- endmacro %}
