{#- `keep_by`: a column with the names of columns that an event lacks. Here is what the merge takes in their place.

    It is the value of the newest event before it in the batch that has the column or deletes the key, if that one is newer than
    the table's row; else the row's own. docs/merge.md has the table of it. -#}


{#- SQL that says which columns the events lack. Each has its `name` in lower case, an `example` of how it is written, and whether the
    model selects it and an event has a value of it all the same. known: the batch's columns in lower case. -#}
{% macro _lacked_columns_sql(events, settings, known) -%}
  {%- set name = 'lower(`__alluvium_name`)' -%}
  {%- set texts = [] -%}
  {%- for one in known -%}{%- do texts.append(alluvium._text_literal(one)) -%}{%- endfor %}
select to_json(collect_list(struct(*))) as `lacked`
from (
    select
        {{ name }} as `name`,
        min(`__alluvium_name`) as `example`,
        {{ name }} in ({{ texts | join(', ') }}) as `is_known`,
        bool_or(
            {%- for column in settings.immutable %}
            ({{ name }} = {{ alluvium._text_literal(column | lower) }} and {{ alluvium._quote_name(column) }} is not null) or
            {%- endfor %}
            false
        ) as `has_value`
    from {{ events }} lateral view explode({{ alluvium._quote_name(settings.keep_by) }}) `__alluvium_names` as `__alluvium_name`
    where `__alluvium_name` is not null
    group by {{ name }}
    order by `is_known` desc, `name`
    limit {{ known | length + 10 }}
)
{%- endmacro %}


{#- The columns to keep, as the table spells them and in its order; or `mistakes` in what the events say. outline: settings, columns and
    types, as `_merge_outline` gives them. lacked: what `_lacked_columns_sql` found. -#}
{% macro _kept_columns(outline, lacked) %}
  {%- set settings = outline.settings -%}
  {%- set keys = settings.unique_key | map('lower') | list -%}
  {%- set order = settings.order_by | map('lower') | list -%}
  {%- set mistakes = [] -%}
  {%- set columns = [] -%}
  {%- for one in lacked -%}
    {%- set given = modules.re.sub('^(var)?char\\(.*', 'string', outline.source_types.get(one.name, '')) -%}
    {%- set stored = outline.types.get(one.name, given) -%}
    {%- set says = 'keep_by: events leave out ' ~ one.example -%}
    {%- if not one.is_known -%}
      {%- do mistakes.append(says ~ ', which the model does not select' ~ alluvium._did_you_mean(one.example, outline.source_types)) -%}
    {%- elif one.name in keys or one.name in order or one.name == settings.keep_by | lower -%}
      {%- set setting = 'unique_key' if one.name in keys else 'order_by' if one.name in order else 'keep_by' -%}
      {%- do mistakes.append(says ~ ', which ' ~ setting ~ ' names; accepted: columns that the merge does not need to find the row and its order') -%}
    {%- elif one.has_value -%}
      {%- do mistakes.append(says ~ ' and have a value of it, and ranges find rows by ' ~ one.example ~ '; accepted: NULL in what an event leaves out') -%}
    {%- elif given not in (stored, 'void') -%}
      {%- do mistakes.append(says ~ ', which is ' ~ given ~ ' in the batch and ' ~ stored ~ ' in the table; accepted: the type of the table') -%}
    {%- endif -%}
    {%- do columns.append(one.name) -%}
  {%- endfor -%}
  {%- set kept = [] -%}
  {%- for column in outline.stored if column | lower in columns -%}{%- do kept.append(column) -%}{%- endfor -%}
  {{ return({'columns': kept, 'mistakes': mistakes}) }}
{% endmacro %}


{#- Whether an array has the name of a column, in any case. -#}
{% macro _has_name(names, column) %}
  {{ return('coalesce(exists(' ~ names ~ ', x -> lower(x) = ' ~ alluvium._text_literal(column | lower) ~ '), false)') }}
{% endmacro %}


{#- Subquery: of every key the event that comes last, as `alluvium.deduplicate` finds it. Beside it stands, for each kept column, the
    event before it that has the column or deletes the key: its order (`o0`, …), its `value` and whether it is `deleted`. -#}
{% macro _with_events_before(source, settings, kept) -%}
  {%- set terms = alluvium._quote_names(alluvium._order_terms(settings)) -%}
  {%- set window = 'partition by ' ~ alluvium._quote_names(settings.unique_key) | join(', ') ~ ' order by ' ~ terms | join(' asc nulls first, ')
      ~ ' asc nulls first, `__alluvium_json`, `__alluvium_text`' %}
(
        select * except (`__alluvium_json`, `__alluvium_text`, `__alluvium_deletes`, `__alluvium_is_older`)
        from (
            select
                *,
                lead(true) over ({{ window }}) as `__alluvium_is_older`
                {%- for column in kept %},
                last(
                    case when `__alluvium_deletes` or not {{ alluvium._has_name(alluvium._quote_name(settings.keep_by), column) }} then named_struct(
                        {%- for term in terms[:settings.order_by | length] %}
                        'o{{ loop.index0 }}', {{ term }},
                        {%- endfor %}
                        'value', if(`__alluvium_deletes`, null, {{ alluvium._quote_name(column) }}),
                        'deleted', `__alluvium_deletes`
                    ) end, true
                ) over ({{ window }} rows between unbounded preceding and 1 preceding) as `__alluvium_before{{ loop.index0 }}`
                {%- endfor %}
            from (
                select
                    *,
                    {{ alluvium._row_json('*') | indent(20) }} as `__alluvium_json`,
                    cast(struct(*) as string) as `__alluvium_text`,
                    coalesce((
                        {{ settings.delete_when or 'false' }}
                    ), false) as `__alluvium_deletes`
                from {{ source }}
            )
        )
        where `__alluvium_is_older` is null
    )
{%- endmacro %}
