{#- `verify`: before the merge, look in the files that it leaves unread for keys of the batch. One that is there has
    changed its range column, and the merge would insert it a second time. `true` asks how many there are, `reject`
    for the keys, as the table has them. -#}
{% macro _verify_merge_sql(target, plan) %}
  {%- set names = [] -%}
  {%- for key in plan.settings.unique_key -%}
    {%- do names.append('DBT_INTERNAL_DEST.' ~ alluvium._quote_name(key)) -%}
  {%- endfor -%}
select
    {%- if plan.settings.verify == 'reject' %} distinct
    {{ names | join(', ') }}
    {%- else %}
    count(*) as missed,
    min(to_json(struct({{ names | join(', ') }}))) as example
    {%- endif %}
from {{ target }} as DBT_INTERNAL_DEST
left semi join {{ plan.source }} as DBT_INTERNAL_SOURCE
    on {{ alluvium._same_key(plan.settings) | join(' and ') }}
where not coalesce({{ plan.prune }}, false)
{%- endmacro %}


{#- The batch with `__alluvium_changed_range`: whether the key of an event is in the view `__alluvium_changed`, which
    has keys as the table has them. -#}
{% macro _marked_batch_sql(source, outline) %}
  {%- set equals = ' <=> ' if outline.settings.null_keys == 'match' else ' = ' -%}
  {%- set keys = [] -%}
  {%- set same = [] -%}
  {%- set names = [] -%}
  {%- for key in outline.settings.unique_key -%}
    {%- set name = '`__alluvium_key' ~ loop.index0 ~ '`' -%}
    {%- set stored = outline.stored_keys[key].stored if key in outline.stored_keys else alluvium._quote_name(key) -%}
    {%- do names.append(name) -%}
    {%- do keys.append(stored ~ ' as ' ~ name) -%}
    {%- do same.append('batch.' ~ name ~ equals ~ 'changed.' ~ alluvium._quote_name(key)) -%}
  {%- endfor -%}
select
    batch.* except ({{ names | join(', ') }}),
    changed.`__alluvium_found` is not null as `__alluvium_changed_range`
from (select *, {{ keys | join(', ') }} from {{ source }}) as batch
left join (select *, true as `__alluvium_found` from `__alluvium_changed`) as changed
    on {{ same | join(' and ') }}
{%- endmacro %}
