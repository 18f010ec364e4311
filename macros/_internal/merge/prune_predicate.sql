{#- Predicate on the target that holds for every row that an event of the batch may match; none
    where nothing is known. Two things hold for such a row, and both are asked for. Its key lies between the bounds of
    the batch's keys. And its range column lies in the ranges, or is NULL: a tombstone of an event that carried the key
    only. Or the event is without the column: then the key lies between the bounds of the keys of such events.
    `combined`, planned on several columns, says the second by itself. -#}
{% macro _prune_predicate(settings, ranges, profile, types, box, combined=none) %}
  {%- set terms = alluvium._key_bounds(settings, profile, types, box, 'key') -%}
  {%- if combined is not none and combined.sql != 'true' -%}{%- do terms.insert(0, combined.sql) -%}{%- endif -%}
  {%- if settings.ranges -%}
    {%- set column = alluvium._range_term(settings, ranges, profile, types, box) -%}
    {%- if column is not none -%}{%- do terms.insert(0, column) -%}{%- endif -%}
  {%- endif -%}
  {{ return('(' ~ terms | join(' and ') ~ ')' if terms else none) }}
{% endmacro %}


{% macro _range_term(settings, ranges, profile, types, box) %}
  {%- set d = 'DBT_INTERNAL_DEST' -%}
  {%- set terms = [] -%}
  {%- if profile.get('lo') is not none -%}
    {%- set inside = alluvium.range_predicate(ranges, settings.ranges.column, d) -%}
    {%- if inside == 'true' or profile.get('unfit') -%}{{ return(none) }}{%- endif -%}
    {%- do terms.append(inside) -%}
    {%- if alluvium._reads_nulls(settings) -%}
      {%- do terms.append(d ~ '.' ~ alluvium._quote_name(settings.ranges.column) ~ ' is null') -%}
    {%- endif -%}
  {%- endif -%}
  {%- if profile.lacking -%}
    {%- set bounds = alluvium._key_bounds(settings, profile, types, box, 'lacking') -%}
    {%- if not bounds -%}{{ return(none) }}{%- endif -%}
    {%- do terms.append('(' ~ bounds | join(' and ') ~ ')') -%}
  {%- endif -%}
  {{ return('(' ~ terms | join(' or ') ~ ')' if terms else none) }}
{% endmacro %}


{#- For each key column that can, what its values lie between: those of all events (`key`), or of
    those without the range column (`lacking`). -#}
{% macro _key_bounds(settings, profile, types, box, which) %}
  {%- set bounds = [] -%}
  {%- for key in settings.unique_key if key | lower in box -%}
    {%- set type = types[key | lower] -%}
    {%- set place = settings.unique_key.index(key) -%}
    {%- set row = {
        'column_type': type,
        'lo': alluvium._canonical_text(profile.get(which ~ place ~ '_lo'), type),
        'hi': alluvium._canonical_text(profile.get(which ~ place ~ '_hi'), type),
    } -%}
    {%- set within = alluvium.range_predicate([row], key, 'DBT_INTERNAL_DEST') -%}
    {%- if within != 'true' -%}
      {%- if settings.null_keys == 'match' -%}
        {%- set within = '(' ~ within ~ ' or DBT_INTERNAL_DEST.' ~ alluvium._quote_name(key) ~ ' is null)' -%}
      {%- endif -%}
      {%- do bounds.append(within) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(bounds) }}
{% endmacro %}


{#- Whether a row without the range column may match: not where the column is of the key. -#}
{% macro _reads_nulls(settings) %}
  {{ return(settings.null_keys == 'match' or settings.ranges.column | lower not in settings.unique_key | map('lower')) }}
{% endmacro %}


{#- Key columns, in lower case, whose bounds narrow the target. Both sides compare them as they are: a cast in the ON
    clause may match what bounds of another type exclude. -#}
{% macro _bounded_keys(settings, types, source_types) %}
  {%- set box = [] -%}
  {%- for key in settings.unique_key | map('lower') if settings.prunes and alluvium._can_range(types[key]) and types[key] == source_types[key] -%}
    {%- do box.append(key) -%}
  {%- endfor -%}
  {{ return(box) }}
{% endmacro %}
