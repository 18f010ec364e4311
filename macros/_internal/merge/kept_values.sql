{#- What a merge's source selects for `keep_by`: by column in lower case the value and the names that a new row gets, and `beside` them
    whether the event lacks each kept column, and the order of the event before. kept: columns that events lack; dedup: whether the
    source has the events before. -#}
{% macro _kept_of_source(settings, kept, dedup) %}
  {%- set values = {} -%}
  {%- set entries = [] -%}
  {%- set beside = [] -%}
  {%- for column in kept -%}
    {%- set lacks = alluvium._has_name(alluvium._quote_name(settings.keep_by), column) -%}
    {%- set before = '`__alluvium_before' ~ loop.index0 ~ '`' -%}
    {%- set name = alluvium._quote_name(column) -%}
    {%- do values.update({column | lower: 'if(' ~ lacks ~ ', ' ~ (before ~ '.`value`' if dedup else 'null') ~ ', ' ~ name ~ ') as ' ~ name}) -%}
    {%- do entries.append(alluvium._kept_name(lacks ~ (' and coalesce(' ~ before ~ '.`deleted`, true)' if dedup else ''), column)) -%}
    {%- do beside.append(lacks ~ ' as `__alluvium_lacks' ~ loop.index0 ~ '`') -%}
    {%- if dedup -%}
      {%- set parts = [] -%}
      {%- for part in range(settings.order_by | length) -%}{%- do parts.append(before ~ '.`o' ~ part ~ '`') -%}{%- endfor -%}
      {%- do beside.append('struct(' ~ (parts + [before ~ '.`deleted`']) | join(', ') ~ ') as ' ~ before) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- do values.update({settings.keep_by | lower: alluvium._kept_names(entries) ~ ' as ' ~ alluvium._quote_name(settings.keep_by)}) -%}
  {{ return({'values': values, 'beside': beside}) }}
{% endmacro %}


{#- What a matched row gets for `keep_by`, by column in lower case: the `value` and whether it is `unknown`, where an update sets the
    column; the same where only a tombstone takes it (`revived`, `revived_unknown`). -#}
{% macro _kept_of_match(settings, kept, dedup) %}
  {%- set found = {} -%}
  {%- set tombstone = 'coalesce(DBT_INTERNAL_DEST.`_deleted`, false)' -%}
  {%- for column in kept -%}
    {%- set lacks = 'DBT_INTERNAL_SOURCE.`__alluvium_lacks' ~ loop.index0 ~ '`' -%}
    {%- set before = 'DBT_INTERNAL_SOURCE.`__alluvium_before' ~ loop.index0 ~ '`' -%}
    {%- set newer = alluvium._newer_than_target(settings, before) if dedup else 'false' -%}
    {%- set s = 'DBT_INTERNAL_SOURCE.' ~ alluvium._quote_name(column) -%}
    {%- set d = 'DBT_INTERNAL_DEST.' ~ alluvium._quote_name(column) -%}
    {%- set was_unknown = alluvium._has_name('DBT_INTERNAL_DEST.' ~ alluvium._quote_name(settings.keep_by), column) -%}
    {%- set is_older = lacks ~ ' and not ' ~ newer if dedup else lacks -%}
    {%- set deleted = before ~ '.`deleted`' -%}
    {%- set was = '(' ~ tombstone ~ ' or ' ~ was_unknown ~ ')' if settings.soft else was_unknown -%}
    {%- do found.update({column | lower: {
        'value': 'if(' ~ is_older ~ ', ' ~ ('if(' ~ tombstone ~ ', null, ' ~ d ~ ')' if settings.soft else d) ~ ', ' ~ s ~ ')',
        'unknown': lacks ~ ' and ' ~ ('if(' ~ newer ~ ', ' ~ deleted ~ ', ' ~ was ~ ')' if dedup else was),
        'revived': 'if(' ~ is_older ~ ', null, ' ~ s ~ ')',
        'revived_unknown': lacks ~ (' and if(' ~ newer ~ ', ' ~ deleted ~ ', true)' if dedup else ''),
    }}) -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}


{#- An entry of an array of names: the column's where the condition holds. -#}
{% macro _kept_name(condition, column) %}
  {{ return('if(' ~ condition ~ ', ' ~ alluvium._text_literal(column) ~ ', null)') }}
{% endmacro %}


{#- The array of names of the entries that hold; NULL where none does. -#}
{% macro _kept_names(entries) %}
  {%- if not entries -%}{{ return('cast(null as array<string>)') }}{%- endif -%}
  {{ return('nullif(filter(array(' ~ entries | join(', ') ~ '), x -> x is not null), cast(array() as array<string>))') }}
{% endmacro %}
