{#- `verify: true`: before the merge, look in the files that it leaves unread for keys of the batch. One that
    is there has changed its range column, and the merge would insert it a second time. -#}
{% macro _verify_merge_sql(target, plan) %}
  {%- set names = [] -%}
  {%- for key in plan.settings.unique_key -%}
    {%- do names.append('DBT_INTERNAL_DEST.' ~ alluvium._quote_name(key)) -%}
  {%- endfor -%}
select
    count(*) as missed,
    min(to_json(struct({{ names | join(', ') }}))) as example
from {{ target }} as DBT_INTERNAL_DEST
left semi join {{ plan.source }} as DBT_INTERNAL_SOURCE
    on {{ alluvium._same_key(plan.settings) | join(' and ') }}
where not coalesce({{ plan.prune }}, false)
{%- endmacro %}
