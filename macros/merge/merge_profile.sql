{#- One look at the batch: figures for the plan, the checks and the console, as a mapping. They are those of the events that
    the merge takes; of the others it says how many they are (`rejects`, `null_keys`), and the control columns are those of all.

    types: type of every target column by lower-case name, in which bounds are compared; planned:
    predicate of the planned ranges on `__alluvium_value`, the range column in the target's type, or none; controls: which control columns the
    source has; judged: whether it says why an event is rejected. -#}
{% macro merge_profile(source, settings, types, box, planned, controls, judged=false) %}
  {%- set found = {'merged': {}, 'null_key': {}, 'rejected': {}} -%}
  {%- for row in run_query(alluvium.merge_profile_sql(source, settings, types, box, planned, controls, judged)).rows -%}
    {%- do found.update({row[0]: fromjson(row[1])}) -%}
  {%- endfor -%}
  {%- set profile = found.merged -%}
  {%- for figure in ('events', 'key_count', 'deletes', 'delete_events', 'tied', 'blurred', 'lacking', 'outside') -%}
    {%- do profile.update({figure: profile.get(figure) or 0}) -%}
  {%- endfor -%}
  {%- do profile.update({'null_keys': found.null_key.get('events') or 0, 'rejects': found.rejected.get('events') or 0}) -%}
  {%- for control in controls -%}
    {%- set values = found.values() | map(attribute=control) | select('number') | list -%}
    {%- do profile.update({control: (values | max if control == '_batch_through' else values | min) if values else none}) -%}
  {%- endfor -%}
  {{ return(profile) }}
{% endmacro %}


{% macro merge_profile_sql(source, settings, types, box, planned, controls, judged=false) %}
  {%- set column = settings.ranges.column if settings.ranges else none -%}
  {%- set type = types.get(column | lower) if column else none -%}
  {%- set keys = settings.unique_key | map('lower') | list -%}
  {%- set order = [] -%}
  {%- for item in alluvium.order_terms(settings) -%}{%- do order.append(alluvium.quote_name(item)) -%}{%- endfor %}
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
    {%- if dated %},
    'newest_event', {{ alluvium.text_of('max(`newest_event`)', 'timestamp') }}
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
    'lo', {{ alluvium.text_of('min(`lo`)', type) }},
    'hi', {{ alluvium.text_of('max(`hi`)', type) }}
    {%- if planned %},
    'outside', sum(`outside`)
    {%- endif %}
    {%- endif %}
    {%- for key in keys if key in box %}
    {%- set place = keys.index(key) %},
    'key{{ place }}_lo', {{ alluvium.key_bound('min', place, types[key]) }},
    'key{{ place }}_hi', {{ alluvium.key_bound('max', place, types[key]) }}
    {%- if column %},
    'lacking{{ place }}_lo', {{ alluvium.key_bound('min', place, types[key], 'if(`lacking` > 0, `k' ~ place ~ '`, null)') }},
    'lacking{{ place }}_hi', {{ alluvium.key_bound('max', place, types[key], 'if(`lacking` > 0, `k' ~ place ~ '`, null)') }}
    {%- endif %}
    {%- endfor %}
)) as `profile`
from (
    select
        {%- for key in settings.unique_key %}
        {{ alluvium.quote_name(key) }} as `k{{ loop.index0 }}`,
        {%- endfor %}
        {%- if judged %}
        `__alluvium_reason` is not null as `is_rejected`,
        {%- endif %}
        count(*) as `events`
        {%- if settings.stored_order %},
        count_if({{ settings.stored_order.values() | map(attribute='changed') | join(' or ') }}) as `blurred`
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
        select{{ alluvium.scan_hint(source) }}
            *
            {%- if column %},
            cast({{ alluvium.quote_name(column) }} as {{ type }}) as `__alluvium_value`
            {%- endif %}
            {%- if settings.delete_when is not none %},
            coalesce((
                {{ settings.delete_when }}
            ), false) as `__alluvium_delete`
            {%- endif %}
        from {{ source }}
    )
    group by {% for key in settings.unique_key %}{{ alluvium.quote_name(key) }}{{ ', ' if not loop.last }}{% endfor %}
        {%- if judged %}, `__alluvium_reason` is not null{% endif %}
)
{%- if others %}
group by {{ fate }}
{%- endif %}
{%- endmacro %}


{#- How many keys the newest event deletes, told apart by content where events tie, as the merge does it. -#}
{% macro winning_deletes_sql(source, settings) %}
select count_if(coalesce((
    {{ settings.delete_when }}
), false))
from {{ alluvium.newest(source, settings.unique_key, alluvium.order_terms(settings), nulls_equal=true) }}
{%- endmacro %}


{#- A small batch is read by one task: its rows need no exchange before they are grouped. -#}
{% macro scan_hint(source) %}
  {{ return(adapter.dispatch('scan_hint', 'alluvium')(source)) }}
{% endmacro %}

{% macro default__scan_hint(source) %}
  {{ return('') }}
{% endmacro %}

{% macro alluvium__scan_hint(source) %}
  {{ return(' /*+ coalesce(1) */' if adapter.is_small(source if source is string else source.render()) else '') }}
{% endmacro %}


{#- Bound of a key column as text; none where a value is no UTF-8: neither the text nor Delta's statistics tell
    such strings apart. -#}
{% macro key_bound(which, place, type, value=none) %}
  {%- set bound = which ~ '(' ~ (value or '`k' ~ place ~ '`') ~ ')' -%}
  {%- if type == 'string' -%}
    {%- set bound = 'if(bool_and(' ~ alluvium.is_utf8('`k' ~ place ~ '`') ~ '), ' ~ bound ~ ', null)' -%}
  {%- endif -%}
  {{ return(alluvium.text_of(bound, type)) }}
{% endmacro %}


{#- True for a string that is UTF-8, and for NULL. Spark before 4 has no function for it. -#}
{% macro is_utf8(value) %}
  {{ return(adapter.dispatch('is_utf8', 'alluvium')(value)) }}
{% endmacro %}

{% macro default__is_utf8(value) %}
  {{ return("coalesce(get_json_object(to_json(named_struct('v', " ~ value ~ ")), '$.v') = " ~ value ~ ', true)') }}
{% endmacro %}

{% macro alluvium__is_utf8(value) %}
  {{ return('coalesce(is_valid_utf8(' ~ value ~ '), true)') }}
{% endmacro %}
