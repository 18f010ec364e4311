{#- Subquery of the batch with `__alluvium_reason`: why an event is rejected, NULL where it is not. Keys are as the table stores
    them, or, with `raw`, as the events have them; what it stores of the order stands beside. keys, order: as `_stored_keys` and
    `_stored_order` give them; reject_by: the setting; marked: whether the batch says which events have changed their range column;
    says_reason: whether the column of reject_by is a struct whose first field is the reason. -#}
{% macro _judged(source, keys, reject_by=none, raw=false, order={}, marked=false, says_reason=false) %}
  {%- set names = [] -%}
  {%- set columns = [] -%}
  {%- set changed = [] -%}
  {%- set unfit = [] -%}
  {%- set beside = [] -%}
  {%- for one in order.values() -%}
    {%- do beside.append(one.stored ~ ' as `' ~ one.name ~ '`, ') -%}
    {%- do unfit.append(one.value ~ ' is not null and ' ~ one.stored ~ ' is null') -%}
  {%- endfor -%}
  {%- for key, one in keys.items() -%}
    {%- do changed.append(one.changed) -%}
    {%- do names.append(alluvium._quote_name(key)) -%}
    {%- do columns.append(one.stored ~ ' as ' ~ alluvium._quote_name(key)) -%}
  {%- endfor -%}
  {%- set reason = 'case'
      ~ (' when ' ~ alluvium._quote_name(reject_by) ~ ' is not null then ' ~ ('coalesce(' ~ alluvium._quote_name(reject_by) ~ ".reason, 'reject_by')" if says_reason else "'reject_by'") if reject_by is not none else '')
      ~ (" when `__alluvium_changed_range` then 'changed_range_column'" if marked else '')
      ~ (' when ' ~ changed | join(' or ') ~ " then 'changed_key'" if changed else '')
      ~ (' when ' ~ unfit | join(' or ') ~ " then 'unfit_order'" if unfit else '') ~ ' end as `__alluvium_reason`' -%}
  {%- set reason = beside | join ~ reason -%}
  {%- if raw or not keys -%}
    {{ return('(select *, ' ~ reason ~ ' from ' ~ source ~ ')') }}
  {%- endif -%}
  {{ return('(select * except (' ~ names | join(', ') ~ '), ' ~ columns | join(', ') ~ ', ' ~ reason ~ ' from ' ~ source ~ ')') }}
{% endmacro %}


{#- Subquery of the events that may be merged, or of those that have a reason against it. -#}
{% macro _events_judged(judged, fit) %}
  {{ return('(select * from ' ~ judged ~ ' where `__alluvium_reason` is ' ~ ('' if fit else 'not ') ~ 'null)') }}
{% endmacro %}
