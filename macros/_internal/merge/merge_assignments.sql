{#- What an update sets of a matched row, as `_merge_statement` is given columns and settings. looks_back: whether the source has the events
    before. -#}
{% macro _merge_assignments(settings, columns, updates, kept=none, looks_back=false) %}
  {#- Nothing may change, not even the order: that would only matter to a delete that comes later. -#}
  {%- if not updates and settings.delete_when is none -%}{{ return([]) }}{%- endif -%}
  {%- set s = 'DBT_INTERNAL_SOURCE.' -%}
  {%- set d = 'DBT_INTERNAL_DEST.' -%}
  {%- set tombstone = 'coalesce(' ~ d ~ '`_deleted`, false)' -%}
  {%- set sets = [] -%}
  {%- set always = (settings.order_by + ([settings.keep_by] if settings.keep_by else [])) | map('lower') | list -%}
  {%- set keys = settings.unique_key | map('lower') | list -%}
  {%- set immutable = settings.immutable | map('lower') | list -%}
  {%- set wanted = updates | map('lower') | list -%}
  {%- set lacked = alluvium._kept_of_match(settings, kept or [], looks_back) -%}
  {#- A column that no update sets stays as unknown as it was. -#}
  {%- set stays = columns | map('lower') | reject('in', keys + immutable + wanted + always) | list -%}
  {%- set names = settings.keep_by | lower if settings.keep_by and (kept is not none or stays) else none -%}
  {%- set unknown = [] -%}
  {%- for column in columns if column | lower not in keys and column | lower != names -%}
    {%- set name = alluvium._quote_name(column) -%}
    {%- set one = lacked.get(column | lower) -%}
    {%- if column | lower in immutable -%}
      {#- An event may be without the column. A row that has it keeps it, else later ranges would miss it. -#}
      {%- do sets.append(d ~ name ~ ' = coalesce(' ~ (one.revived if one else s ~ name) ~ ', ' ~ d ~ name ~ ')') -%}
      {%- if one -%}{%- do unknown.append(alluvium._kept_name(one.unknown ~ ' and ' ~ d ~ name ~ ' is null', column)) -%}{%- endif -%}
    {%- elif column | lower in wanted or column | lower in always -%}
      {%- do sets.append(d ~ name ~ ' = ' ~ (one.value if one else s ~ name)) -%}
      {%- if one -%}{%- do unknown.append(alluvium._kept_name(one.unknown, column)) -%}{%- endif -%}
    {%- else -%}
      {%- if settings.soft -%}
        {#- A tombstone that comes back takes all its columns from the event. -#}
        {%- do sets.append(d ~ name ~ ' = if(' ~ tombstone ~ ', ' ~ (one.revived if one else s ~ name) ~ ', ' ~ d ~ name ~ ')') -%}
      {%- endif -%}
      {%- if names -%}
        {%- set was = alluvium._has_name(d ~ alluvium._quote_name(settings.keep_by), column) -%}
        {%- do unknown.append(alluvium._kept_name(
            'if(' ~ tombstone ~ ', ' ~ (one.revived_unknown if one else 'false') ~ ', ' ~ was ~ ')' if settings.soft else was, column)) -%}
      {%- endif -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if names -%}
    {%- do sets.append(d ~ alluvium._quote_name(settings.keep_by) ~ ' = ' ~ alluvium._kept_names(unknown)) -%}
  {%- endif -%}
  {%- if settings.soft -%}{%- do sets.append(d ~ '`_deleted` = false') -%}{%- endif -%}
  {%- if settings.notes_time -%}{%- do sets.append(d ~ '`_tombstone_time` = null') -%}{%- endif -%}
  {{ return(sets) }}
{% endmacro %}
