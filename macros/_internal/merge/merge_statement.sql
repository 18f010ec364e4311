{#- The MERGE itself, from figures only: no query is run here.

    target, source: rendered names. settings: `_merge_settings`. columns: those to store, in the target's order, without
    `_deleted`. updates: those that an update may set. prune: predicate on the target or none. predicates: the model's
    own incremental_predicates. dedup: whether the source may hold a key twice. null_keys: further rows, with NULL in
    the key, each of them inserted. tombstones: whether the source may hold deletes. Where it holds none, nothing has to
    be read of the target's other columns. -#}
{% macro _merge_statement(target, source, settings, columns, updates, prune=none, predicates=[], dedup=true, null_keys=none, tombstones=true) %}
  {%- set s = 'DBT_INTERNAL_SOURCE' -%}
  {%- set d = 'DBT_INTERNAL_DEST' -%}
  {%- set ignore = settings.on_match == 'ignore' -%}
  {%- set deletes = settings.delete_when is not none -%}
  {%- set from = alluvium.deduplicate(source, settings.unique_key, alluvium._order_terms(settings), first=ignore, nulls_equal=true) if dedup else source -%}
  {%- if null_keys -%}
    {%- set from = alluvium._with_rows(from, null_keys) -%}
  {%- endif -%}
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
        {%- for column in columns %}
        {{ alluvium._quote_name(column) }}{{ ',' if deletes or not loop.last }}
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
  {%- set sets = alluvium._merge_assignments(settings, columns, updates) %}
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


{% macro _with_rows(first, second) -%}
(
        select * from {{ first }}
        union all
        select * from {{ second }}
    )
{%- endmacro %}


{#- True where the source's row comes after the target's, as the table stores both; a NULL comes before everything. -#}
{% macro _newer_than_target(settings) %}
  {%- set ns = namespace(sql=none) -%}
  {%- set terms = alluvium._order_terms(settings) -%}
  {%- for column in settings.order_by | reverse -%}
    {%- set s = 'DBT_INTERNAL_SOURCE.' ~ alluvium._quote_name(terms[loop.revindex0]) -%}
    {%- set d = 'DBT_INTERNAL_DEST.' ~ alluvium._quote_name(column) -%}
    {%- set later = 'coalesce(' ~ s ~ ' > ' ~ d ~ ', ' ~ s ~ ' is not null)' -%}
    {%- set ns.sql = later if ns.sql is none else '(' ~ later ~ ' or (' ~ s ~ ' <=> ' ~ d ~ ' and ' ~ ns.sql ~ '))' -%}
  {%- endfor -%}
  {{ return(ns.sql) }}
{% endmacro %}


{% macro _merge_assignments(settings, columns, updates) %}
  {#- Nothing may change, not even the order: that would only matter to a delete that comes later. -#}
  {%- if not updates and settings.delete_when is none -%}{{ return([]) }}{%- endif -%}
  {%- set s = 'DBT_INTERNAL_SOURCE.' -%}
  {%- set d = 'DBT_INTERNAL_DEST.' -%}
  {%- set sets = [] -%}
  {%- set always = settings.order_by | map('lower') | list -%}
  {%- set keys = settings.unique_key | map('lower') | list -%}
  {%- set immutable = settings.immutable | map('lower') | list -%}
  {%- set wanted = updates | map('lower') | list -%}
  {%- for column in columns if column | lower not in keys -%}
    {%- set name = alluvium._quote_name(column) -%}
    {%- if column | lower in immutable -%}
      {#- An event may be without the column. A row that has it keeps it, else later ranges would miss it. -#}
      {%- do sets.append(d ~ name ~ ' = coalesce(' ~ s ~ name ~ ', ' ~ d ~ name ~ ')') -%}
    {%- elif column | lower in wanted or column | lower in always -%}
      {%- do sets.append(d ~ name ~ ' = ' ~ s ~ name) -%}
    {%- elif settings.soft -%}
      {#- A tombstone that comes back takes all its columns from the event. -#}
      {%- do sets.append(d ~ name ~ ' = if(coalesce(' ~ d ~ '`_deleted`, false), ' ~ s ~ name ~ ', ' ~ d ~ name ~ ')') -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if settings.soft -%}{%- do sets.append(d ~ '`_deleted` = false') -%}{%- endif -%}
  {%- if settings.notes_time -%}{%- do sets.append(d ~ '`_tombstone_time` = null') -%}{%- endif -%}
  {{ return(sets) }}
{% endmacro %}
