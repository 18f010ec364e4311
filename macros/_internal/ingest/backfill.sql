{#- Condition on bronze for the events that the var `alluvium_backfill` asks to merge once more into
    the model; none where it asks for nothing. See docs/merge.md. -#}
{% macro _backfill(node) %}
  {%- set window = alluvium._backfill_window(node) -%}
  {%- if not window -%}{{ return(none) }}{%- endif -%}
  {%- set compared = {'from_batch': '`_batch_id` >= ', 'through_batch': '`_batch_id` <= ',
                      'from_time': '`_source_timestamp` >= ', 'before_time': '`_source_timestamp` < '} -%}
  {%- set terms = [] -%}
  {%- for key, value in window.items() if key in compared -%}
    {%- do terms.append(compared[key] ~ alluvium._backfill_bound(key, value)) -%}
  {%- endfor -%}
  {{ return(terms | join(' and ')) }}
{% endmacro %}


{#- The window that the var asks for; none for none, and for what `validate` refuses: some commands render models without it. -#}
{% macro _backfill_window(node) %}
  {%- set given = var('alluvium_backfill', none) -%}
  {%- for name, window in (given if given is mapping else {}).items() if window is mapping and window -%}
    {%- if alluvium._find_model(name, 'var alluvium_backfill').unique_id == node.unique_id -%}{{ return(window) }}{%- endif -%}
  {%- endfor -%}
  {{ return(none) }}
{% endmacro %}


{#- Stops a backfill of which bronze can hold no event, and warns of one that finds none. -#}
{% macro _check_backfill(node, events, bronze) %}
  {%- if run_query('select 1 from ' ~ events ~ ' where ' ~ alluvium._backfill(node) ~ ' limit 1').rows -%}{{ return('') }}{%- endif -%}
  {%- set window = alluvium._backfill_window(node) -%}
  {%- set shown = [] -%}
  {%- for key, value in window.items() -%}{%- do shown.append(key ~ ': ' ~ value) -%}{%- endfor -%}
  {%- set said = alluvium._name_of(node) ~ ': the backfill of {' ~ shown | join(', ') ~ '}' -%}
  {%- for column, first, last, ends in [('_batch_id', 'from_batch', 'through_batch', '<'), ('_source_timestamp', 'from_time', 'before_time', '<=')]
         if first in window or last in window -%}
    {%- set name = alluvium._quote(column) -%}
    {%- set low = alluvium._backfill_bound(first, window[first]) if first in window else none -%}
    {%- set high = alluvium._backfill_bound(last, window[last]) if last in window else none -%}
    {%- set outside = [] -%}
    {%- if low -%}{%- do outside.append(low ~ ' > max(' ~ name ~ ')') -%}{%- endif -%}
    {%- if high -%}{%- do outside.append(high ~ ' ' ~ ends ~ ' min(' ~ name ~ ')') -%}{%- endif -%}
    {%- set row = run_query('select ' ~ outside | join(' or ') ~ ' as `outside`, cast(min(' ~ name ~ ') as string) as `first`, cast(max(' ~ name ~ ') as string) as `last` from '
        ~ bronze).rows[0] -%}
    {%- if row['last'] is none -%}
      {%- do exceptions.raise_compiler_error(said ~ ' finds nothing: ' ~ bronze ~ ' has no ' ~ column ~ '. Load it first.') -%}
    {%- elif row['outside'] | string | lower == 'true' -%}
      {%- do exceptions.raise_compiler_error(said ~ ' lies beyond ' ~ bronze ~ ', whose ' ~ column ~ ' goes from ' ~ row['first'] ~ ' to ' ~ row['last']
          ~ (' (UTC)' if column == '_source_timestamp' else '') ~ '. Accepted: a window that meets it.') -%}
    {%- endif -%}
  {%- endfor -%}
  {%- do exceptions.warn(said ~ ' found no event in ' ~ events ~ ', so nothing is merged') -%}
{% endmacro %}


{#- A bound of the window as a SQL literal. -#}
{% macro _backfill_bound(key, value) %}
  {{ return(value | int ~ 'L' if key in ('from_batch', 'through_batch') else 'timestamp' ~ alluvium._text_literal(alluvium._moment_text(value))) }}
{% endmacro %}


{#- A date, or a date and time to the minute or second, as the text of a timestamp literal. -#}
{% macro _moment_text(value) %}
  {%- set text = value | string | replace('T', ' ') -%}
  {{ return(text ~ ' 00:00:00'[text | length - 10:] ~ ' UTC') }}
{% endmacro %}
