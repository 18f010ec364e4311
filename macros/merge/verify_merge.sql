{#- `verify: true`: before the merge, look in the files that it leaves unread for keys of the batch. One that
    is there has changed its range column, and the merge would insert it a second time. -#}
{% macro verify_merge(target, plan) %}
  {%- if not plan.prune -%}{{ return('') }}{%- endif -%}
  {%- do alluvium.hold_version(target) -%}
  {%- set found = run_query(alluvium.verify_merge_sql(target, plan)) -%}
  {%- set rows = found.rows[0]['missed'] | int -%}
  {%- if rows -%}
    {%- do exceptions.raise_compiler_error(model.name ~ ': ' ~ alluvium.counted(rows, 'row') ~ ' of the table whose key is in the batch'
        ~ (' lie' if rows != 1 else ' lies') ~ ' outside its ranges, for example ' ~ found.rows[0]['example']
        ~ '. ' ~ plan.settings.immutable | join(', ') ~ ': not immutable for its key, so nothing was merged. Accepted: columns that'
        ~ ' never change, or `ranges: false`.') -%}
  {%- endif -%}
{% endmacro %}


{#- The merge that follows begins at the version that was looked at, or is planned and verified anew. -#}
{% macro hold_version(target) %}
  {{ return(adapter.dispatch('hold_version', 'alluvium')(target)) }}
{% endmacro %}

{% macro alluvium__hold_version(target) %}
  {%- do adapter.hold_version(target.render()) -%}
{% endmacro %}

{% macro default__hold_version(target) %}{% endmacro %}


{% macro verify_merge_sql(target, plan) %}
  {%- set names = [] -%}
  {%- for key in plan.settings.unique_key -%}
    {%- do names.append('DBT_INTERNAL_DEST.' ~ alluvium.quote_name(key)) -%}
  {%- endfor -%}
select
    count(*) as missed,
    min(to_json(struct({{ names | join(', ') }}))) as example
from {{ target }} as DBT_INTERNAL_DEST
left semi join {{ plan.source }} as DBT_INTERNAL_SOURCE
    on {{ alluvium.same_key(plan.settings) | join(' and ') }}
where not coalesce({{ plan.prune }}, false)
{%- endmacro %}
