{#- One look at the batch: figures for the plan, the checks and the console. They are JSON for each fate of an event:
    `merged`, `null_key` or `rejected`.

    types: type of every target column by lower-case name, in which bounds are compared. planned: predicate of the
    planned ranges on `__alluvium_value`, the range column in the target's type, or none. controls: which control
    columns the source has. judged: whether it says why an event is rejected. is_small: whether one task should read it;
    its rows then need no exchange before they are grouped. -#}
{% macro _merge_profile_sql(source, settings, types, box, planned, controls, judged=false, is_small=false) %}
  {%- set column = settings.ranges.column if settings.ranges else none -%}
  {%- set type = types.get(column | lower) if column else none -%}
  {%- set keys = settings.unique_key | map('lower') | list -%}
  {%- set order = alluvium._quote_names(alluvium._order_terms(settings)) %}
  {%- set dated = order and types.get(settings.order_by[0] | lower) == 'timestamp' -%}
  {#- NULL equals nothing: such an event finds no row. -#}
  {%- set absent = [] -%}
  {%- for key in keys if settings.null_keys != 'match' -%}{%- do absent.append('`k' ~ loop.index0 ~ '` is null') -%}{%- endfor -%}
  {%- set others = ["when `is_rejected` then 'rejected' "] if judged else [] -%}
  {%- if absent -%}{%- do others.append('when ' ~ absent | join(' or ') ~ " then 'null_key' ") -%}{%- endif -%}
  {%- set fate = 'case ' ~ others | join ~ "else 'merged' end" if others else "'merged'" %}
select {{ fate }} as `fate`, to_json(named_struct(
    'events', sum(`events`),
    'key_count', count(*)
    {%- if settings.stored_order %},
    'blurred', sum(`blurred`)
    {%- endif %}
    {%- if settings.keep_by %},
    'incomplete', sum(`incomplete`)
    {%- endif %}
    {%- if dated %},
    'newest_event', {{ alluvium._text_of('max(`newest_event`)', 'timestamp') }}
    {%- endif %}
    {%- if settings.delete_when is not none %},
    'deletes', sum(if(`is_delete`, 1, 0)),
    'delete_events', sum(`delete_events`)
    {%- if order %},
    'tied', sum(if(`tied`, 1, 0))
    {%- endif %}
    {%- endif %}
    {%- for control in controls %},
    '{{ control }}', {{ 'max' if control == '_batch_through' else 'min' }}(`{{ control }}`)
    {%- endfor %}
    {%- if column %},
    'lacking', sum(`lacking`),
    {%- if type == 'string' %}
    'unfit', sum(`unfit`),
    {%- endif %}
    'lo', {{ alluvium._text_of('min(`lo`)', type) }},
    'hi', {{ alluvium._text_of('max(`hi`)', type) }}
    {%- if planned %},
    'outside', sum(`outside`)
    {%- endif %}
    {%- endif %}
    {%- for key in keys if key in box %}
    {%- set place = keys.index(key) %},
    'key{{ place }}_lo', {{ alluvium._key_bound('min', place, types[key]) }},
    'key{{ place }}_hi', {{ alluvium._key_bound('max', place, types[key]) }}
    {%- if column %},
    'lacking{{ place }}_lo', {{ alluvium._key_bound('min', place, types[key], 'if(`lacking` > 0, `k' ~ place ~ '`, null)') }},
    'lacking{{ place }}_hi', {{ alluvium._key_bound('max', place, types[key], 'if(`lacking` > 0, `k' ~ place ~ '`, null)') }}
    {%- endif %}
    {%- endfor %}
)) as `profile`
from (
    select
        {%- for key in settings.unique_key %}
        {{ alluvium._quote_name(key) }} as `k{{ loop.index0 }}`,
        {%- endfor %}
        {%- if judged %}
        `__alluvium_reason` is not null as `is_rejected`,
        {%- endif %}
        count(*) as `events`
        {%- if settings.stored_order %},
        count_if({{ settings.stored_order.values() | map(attribute='changed') | join(' or ') }}) as `blurred`
        {%- endif %}
        {%- if settings.keep_by %},
        count({{ alluvium._quote_name(settings.keep_by) }}) as `incomplete`
        {%- endif %}
        {%- if dated %},
        max(cast({{ order[0] }} as timestamp)) as `newest_event`
        {%- endif %}
        {%- if settings.delete_when is not none %},
        {{ 'max_by(`__alluvium_delete`, struct(' ~ order | join(', ') ~ '))' if order else 'bool_or(`__alluvium_delete`)' }} as `is_delete`,
        count_if(`__alluvium_delete`) as `delete_events`
        {%- if order %},
        max(if(`__alluvium_delete`, struct({{ order | join(', ') }}), null))
            <=> max(if(`__alluvium_delete`, null, struct({{ order | join(', ') }}))) as `tied`
        {%- endif %}
        {%- endif %}
        {%- for control in controls %},
        {{ 'max' if control == '_batch_through' else 'min' }}(`{{ control }}`) as `{{ control }}`
        {%- endfor %}
        {%- if column %},
        count_if(`__alluvium_value` is null) as `lacking`,
        {%- if type == 'string' %}
        count_if(not {{ alluvium.is_utf8('`__alluvium_value`') }}) as `unfit`,
        {%- endif %}
        min(`__alluvium_value`) as `lo`,
        max(`__alluvium_value`) as `hi`
        {%- if planned %},
        count_if(`__alluvium_value` is not null and not {{ planned }}) as `outside`
        {%- endif %}
        {%- endif %}
    from (
        select{{ ' /*+ coalesce(1) */' if is_small }}
            *
            {%- if column %},
            cast({{ alluvium._quote_name(column) }} as {{ type }}) as `__alluvium_value`
            {%- endif %}
            {%- if settings.delete_when is not none %},
            coalesce((
                {{ settings.delete_when }}
            ), false) as `__alluvium_delete`
            {%- endif %}
        from {{ source }}
    )
    group by {% for key in settings.unique_key %}{{ alluvium._quote_name(key) }}{{ ', ' if not loop.last }}{% endfor %}
        {%- if judged %}, `__alluvium_reason` is not null{% endif %}
)
{%- if others %}
group by {{ fate }}
{%- endif %}
{%- endmacro %}


{#- How many keys the newest event deletes, told apart by content where events tie, as the merge does it. -#}
{% macro _winning_deletes_sql(source, settings) %}
select count_if(coalesce((
    {{ settings.delete_when }}
), false))
from {{ alluvium.deduplicate(source, settings.unique_key, alluvium._order_terms(settings), nulls_equal=true) }}
{%- endmacro %}


{#- Bound of a key column as text; none where a value is not UTF-8: neither the text nor Delta's statistics tell such
    strings apart. -#}
{% macro _key_bound(which, place, type, value=none) %}
  {%- set bound = which ~ '(' ~ (value or '`k' ~ place ~ '`') ~ ')' -%}
  {%- if type == 'string' -%}
    {%- set bound = 'if(bool_and(' ~ alluvium.is_utf8('`k' ~ place ~ '`') ~ '), ' ~ bound ~ ', null)' -%}
  {%- endif -%}
  {{ return(alluvium._text_of(bound, type)) }}
{% endmacro %}
