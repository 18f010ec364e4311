{#- The MERGE itself, from figures only: no query is run here.

    target, source: rendered names. settings: `_merge_settings`. columns: those to store, in the target's order, without
    `_deleted`. updates: those that an update may set. prune: predicate on the target or none. predicates: the model's
    own incremental_predicates. dedup: whether the source may hold a key twice. null_keys: further rows, with NULL in
    the key, each of them inserted. tombstones: whether the source may hold deletes. Where it holds none, nothing has to
    be read of the target's other columns. kept: columns that events lack, as `keep_by` says; none where no event says anything. -#}
{% macro _merge_statement(target, source, settings, columns, updates, prune=none, predicates=[], dedup=true, null_keys=none, tombstones=true, kept=none) %}
  {%- set s = 'DBT_INTERNAL_SOURCE' -%}
  {%- set d = 'DBT_INTERNAL_DEST' -%}
  {%- set ignore = settings.on_match == 'ignore' -%}
  {%- set deletes = settings.delete_when is not none -%}
  {%- set looks_back = dedup and kept -%}
  {%- if looks_back -%}
    {%- set from = alluvium._with_events_before(source, settings, kept) -%}
  {%- else -%}
    {%- set from = alluvium.deduplicate(source, settings.unique_key, alluvium._order_terms(settings), first=ignore, nulls_equal=true) if dedup else source -%}
  {%- endif -%}
  {%- if null_keys -%}
    {%- set from = alluvium._with_rows(from, null_keys, kept | length if looks_back else 0) -%}
  {%- endif -%}
  {%- set taken = alluvium._kept_of_source(settings, kept, looks_back) if kept is not none else {'values': {}, 'beside': []} -%}
  {%- set selected = [] -%}
  {%- for column in columns -%}
    {%- do selected.append(taken['values'].get(column | lower, alluvium._quote_name(column))) -%}
  {%- endfor -%}
  {%- set selected = selected + taken.beside -%}
  {%- set on = [] -%}
  {%- if prune -%}{%- do on.append(prune) -%}{%- endif -%}
  {%- do on.extend(predicates) -%}
  {%- do on.extend(alluvium._same_key(settings)) -%}
  {%- set newer = alluvium._newer_than_target(settings) -%}
  {%- set and_newer = ' and ' ~ newer if newer else '' %}
merge into {{ target }} as {{ d }}
using (
    select
        {%- for one in settings.stored_order.values() %}
        `{{ one.name }}`,
        {%- endfor %}
        {%- for one in selected %}
        {{ one }}{{ ',' if deletes or not loop.last }}
        {%- endfor %}
        {%- if deletes %}
        coalesce((
            {{ settings.delete_when }}
        ), false) as `__alluvium_delete`
        {%- endif %}
    from {{ from }}
) as {{ s }}
on
    {{ on | join('\n    and ') }}
{%- if not ignore %}
  {%- if deletes and tombstones and settings.soft %}
when matched{{ and_newer }} and {{ s }}.`__alluvium_delete` then update set
    {{ d }}.`_deleted` = true
    {%- if settings.notes_time %},
    {{ d }}.`_tombstone_time` = current_timestamp()
    {%- endif %}
    {%- for column in settings.order_by %},
    {{ d }}.{{ alluvium._quote_name(column) }} = {{ s }}.{{ alluvium._quote_name(column) }}
    {%- endfor %}
  {%- elif deletes and tombstones %}
when matched{{ and_newer }} and {{ s }}.`__alluvium_delete` then delete
  {%- endif %}
  {%- set sets = alluvium._merge_assignments(settings, columns, updates, kept, looks_back) %}
  {%- if sets %}
when matched{{ and_newer }} then update set
    {{ sets | join(',\n    ') }}
  {%- endif %}
{%- endif %}
when not matched{{ ' and not ' ~ s ~ '.`__alluvium_delete`' if deletes and not settings.soft }} then insert (
    {%- for column in columns %}
    {{ alluvium._quote_name(column) }}{{ ',' if settings.soft or not loop.last }}
    {%- endfor %}
    {%- if settings.soft %}
    `_deleted`{{ ',\n    `_tombstone_time`' if settings.notes_time }}
    {%- endif %}
) values (
    {%- for column in columns %}
    {{ s }}.{{ alluvium._quote_name(column) }}{{ ',' if settings.soft or not loop.last }}
    {%- endfor %}
    {%- if settings.soft %}
    {{ s }}.`__alluvium_delete`
    {%- if settings.notes_time %},
    if({{ s }}.`__alluvium_delete`, current_timestamp(), null)
    {%- endif %}
    {%- endif %}
)
{%- endmacro %}


{#- Terms that hold where an event and a row of the table have one key. -#}
{% macro _same_key(settings) %}
  {%- set terms = [] -%}
  {%- set equals = ' <=> ' if settings.null_keys == 'match' else ' = ' -%}
  {%- for key in settings.unique_key -%}
    {%- do terms.append('DBT_INTERNAL_SOURCE.' ~ alluvium._quote_name(key) ~ equals ~ 'DBT_INTERNAL_DEST.' ~ alluvium._quote_name(key)) -%}
  {%- endfor -%}
  {{ return(terms) }}
{% endmacro %}


{#- kept: for how many columns the first rows have an event before them. -#}
{% macro _with_rows(first, second, kept=0) -%}
(
        select * from {{ first }}
        union all
        select *{% for place in range(kept) %}, null as `__alluvium_before{{ place }}`{% endfor %} from {{ second }}
    )
{%- endmacro %}


{#- True where the source's row comes after the target's, as the table stores both; a NULL comes before everything.
    before: a struct of the source with another event's order, or none. -#}
{% macro _newer_than_target(settings, before=none) %}
  {%- set ns = namespace(sql=none) -%}
  {%- set terms = alluvium._order_terms(settings) -%}
  {%- for column in settings.order_by | reverse -%}
    {%- set s = before ~ '.`o' ~ loop.revindex0 ~ '`' if before else 'DBT_INTERNAL_SOURCE.' ~ alluvium._quote_name(terms[loop.revindex0]) -%}
    {%- set d = 'DBT_INTERNAL_DEST.' ~ alluvium._quote_name(column) -%}
    {%- set later = 'coalesce(' ~ s ~ ' > ' ~ d ~ ', ' ~ s ~ ' is not null)' -%}
    {%- set ns.sql = later if ns.sql is none else '(' ~ later ~ ' or (' ~ s ~ ' <=> ' ~ d ~ ' and ' ~ ns.sql ~ '))' -%}
  {%- endfor -%}
  {{ return(ns.sql) }}
{% endmacro %}
