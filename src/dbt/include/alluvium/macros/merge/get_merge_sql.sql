{#- Our incremental materialization merges `meta.alluvium_merge` itself; whoever else asks for the
    statement of a merge gets what a stock target does. -#}
{% macro alluvium__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
  {%- if 'alluvium_merge' in (model.config.get('meta') or {}) -%}
    {%- set done = adapter.merge(target, source, model, incremental_predicates) -%}
    {%- do log(done.line, info=true) -%}
    {{ return('select ' ~ done.response.rows_affected ~ ' as num_affected_rows, ' ~ done.response.events ~ ' as num_events') }}
  {%- endif -%}
  {%- set left_out = alluvium_left_out(source, target) -%}
  {%- set columns = adapter.get_columns_in_relation(target) | rejectattr('name', 'in', left_out) | list -%}
  {%- set updates = get_merge_update_columns(config.get('merge_update_columns'), config.get('merge_exclude_columns'), columns) -%}
  {%- set odd = [] -%}
  {%- for column in columns if not modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', column.name) -%}{%- do odd.append(column.name) -%}{%- endfor -%}
  {%- if not left_out and not odd -%}
    {%- set sql = dbt.spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) -%}
    {#- dbt-spark writes a star for no column at all. -#}
    {{ return(sql if updates else modules.re.sub('when matched then update set\\s+[*]', '', sql)) }}
  {%- endif -%}
  {#- dbt-spark writes names into SQL as they stand, and all columns. -#}
  {%- set on = (incremental_predicates or []) | list -%}
  {%- for key in adapter.identifiers(unique_key, columns) -%}
    {%- do on.append('DBT_INTERNAL_SOURCE.' ~ key ~ ' = DBT_INTERNAL_DEST.' ~ key) -%}
  {%- endfor -%}
  {%- if not unique_key -%}{%- do on.append('false') -%}{%- endif -%}
  {%- set sql %}
merge into {{ target }} as DBT_INTERNAL_DEST
using {{ source }} as DBT_INTERNAL_SOURCE
on {{ on | join(' and ') }}
{%- for name in updates %}
{{ 'when matched then update set' if loop.first }}
    {{ name }} = DBT_INTERNAL_SOURCE.{{ name }}{{ ',' if not loop.last }}
{%- endfor %}
when not matched then insert *
  {%- endset -%}
  {#- A star lets structs gain fields. Delta makes one of names that hold a backtick into SQL it cannot read. -#}
  {%- set is_listed = left_out or '`' in columns | map(attribute='name') | join -%}
  {{ return(alluvium_insert_listed(sql, columns | map(attribute='quoted') | list) if is_listed else sql) }}
{% endmacro %}


{#- A MERGE that inserts these columns, where dbt-spark's says all: names as identifiers. -#}
{% macro alluvium_insert_listed(sql, names) %}
  {%- set values = 'DBT_INTERNAL_SOURCE.' ~ names | join(', DBT_INTERNAL_SOURCE.') -%}
  {{ return(sql | replace('then insert *', 'then insert (' ~ names | join(', ') ~ ') values (' ~ values ~ ')')) }}
{% endmacro %}
