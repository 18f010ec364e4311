{#- Condition on bronze for the events that the var `alluvium_backfill` asks to merge once more into
    the model; none where it asks for nothing. See docs/merge.md. -#}
{% macro backfill(node) %}
  {%- set window = alluvium.backfill_window(node) -%}
  {%- if not window -%}{{ return(none) }}{%- endif -%}
  {%- set terms = [] -%}
  {%- for key, value in window.items() -%}
    {%- if key == 'from_batch' -%}{%- do terms.append('`_batch_id` >= ' ~ alluvium.backfill_bound(key, value)) -%}
    {%- elif key == 'through_batch' -%}{%- do terms.append('`_batch_id` <= ' ~ alluvium.backfill_bound(key, value)) -%}
    {%- elif key == 'from_time' -%}{%- do terms.append('`_source_timestamp` >= ' ~ alluvium.backfill_bound(key, value)) -%}
    {%- elif key == 'before_time' -%}{%- do terms.append('`_source_timestamp` < ' ~ alluvium.backfill_bound(key, value)) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(terms | join(' and ')) }}
{% endmacro %}


{#- The window that the var asks for; none for none, and for what `validate` refuses: some commands render models without it. -#}
{% macro backfill_window(node) %}
  {%- set given = var('alluvium_backfill', none) -%}
  {%- for name, window in (given if given is mapping else {}).items() if window is mapping and window -%}
    {%- if alluvium.find_model(name, 'var alluvium_backfill').unique_id == node.unique_id -%}{{ return(window) }}{%- endif -%}
  {%- endfor -%}
  {{ return(none) }}
{% endmacro %}


{#- Stops a backfill of which bronze can hold no event, and warns of one that finds none. -#}
{% macro check_backfill(node, events, bronze) %}
  {%- if run_query('select 1 from ' ~ events ~ ' where ' ~ alluvium.backfill(node) ~ ' limit 1').rows -%}{{ return('') }}{%- endif -%}
  {%- set window = alluvium.backfill_window(node) -%}
  {%- set shown = [] -%}
  {%- for key, value in window.items() -%}{%- do shown.append(key ~ ': ' ~ value) -%}{%- endfor -%}
  {%- set said = alluvium.name_of(node) ~ ': the backfill of {' ~ shown | join(', ') ~ '}' -%}
  {%- for column, first, last, ends in [('_batch_id', 'from_batch', 'through_batch', '<'), ('_source_timestamp', 'from_time', 'before_time', '<=')]
         if first in window or last in window -%}
    {%- set name = alluvium.quote(column) -%}
    {%- set low = alluvium.backfill_bound(first, window[first]) if first in window else none -%}
    {%- set high = alluvium.backfill_bound(last, window[last]) if last in window else none -%}
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
{% macro backfill_bound(key, value) %}
  {{ return(value | int ~ 'L' if key in ('from_batch', 'through_batch') else 'timestamp' ~ alluvium.text_literal(alluvium.moment_text(value))) }}
{% endmacro %}


{#- A date, or a date and time to the minute or second, as the text of a timestamp literal. -#}
{% macro moment_text(value) %}
  {%- set text = value | string | replace('T', ' ') -%}
  {{ return(text ~ ' 00:00:00'[text | length - 10:] ~ ' UTC') }}
{% endmacro %}


{#- Mistakes in the var: a backfill of a table that cannot take an event twice, or of no model. -#}
{% macro validate_backfill(mistakes) %}
  {%- set given = var('alluvium_backfill', none) -%}
  {%- if given is not mapping -%}{{ return('') }}{%- endif -%}
  {%- set where = 'var alluvium_backfill' -%}
  {%- set schema = alluvium.settings_schema() -%}
  {%- set bounds = schema.var.alluvium_backfill.additionalProperties -%}
  {%- set asked = [] -%}
  {%- for name, window in given.items() -%}
    {%- set named = alluvium.models_named(name) -%}
    {%- set node = named[0] if named | length == 1 else none -%}
    {%- set block = (node.config.get('meta') or {}).get('alluvium_merge') if node else none -%}
    {#- Of a model whose own settings are wrong, those are told. -#}
    {%- set wrong = block is not none and alluvium.schema_mistakes(name, block, schema.model.alluvium_merge) -%}
    {%- set settings = alluvium.merge_settings(node) if node and not wrong else none -%}
    {%- if wrong -%}
    {%- elif node is none -%}
      {%- do mistakes.append(where ~ ': ' ~ alluvium.naming_mistake(name, named)) -%}
    {%- elif settings is none -%}
      {%- do mistakes.append(where ~ ': ' ~ name ~ ' is no model with meta.alluvium_merge') -%}
    {%- elif node.unique_id in asked -%}
      {%- do mistakes.append(where ~ '.' ~ name ~ ': ' ~ node.unique_id ~ ' is named twice; accepted: one window for a model') -%}
    {%- elif window is mapping -%}
      {%- do asked.append(node.unique_id) -%}
      {#- What is wrong with one bound alone is told with the types of all vars. -#}
      {%- set right = alluvium.right_values(where, window, bounds) -%}
      {%- for first, last, why in [('from_batch', 'through_batch', 'is after'), ('from_time', 'before_time', 'is not before')]
             if first in right and last in right -%}
        {%- set low = right[first] if first == 'from_batch' else alluvium.moment_text(right[first]) -%}
        {%- set high = right[last] if first == 'from_batch' else alluvium.moment_text(right[last]) -%}
        {%- if low > high or (low == high and last == 'before_time') -%}
          {%- do mistakes.append(where ~ '.' ~ name ~ ': ' ~ first ~ ' ' ~ right[first] ~ ' ' ~ why ~ ' ' ~ last ~ ' ' ~ right[last]
              ~ ', so the window is empty; accepted: ' ~ ('from_batch up to through_batch' if first == 'from_batch' else 'a from_time before before_time')) -%}
        {%- endif -%}
      {%- endfor -%}
      {%- if not window -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ': says no window; accepted: from_batch, through_batch, from_time, before_time') -%}
      {%- endif -%}
      {%- if settings.on_match == 'update' and not settings.order_by -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ': without order_by an old event would replace a newer row; accepted: a model with order_by, or on_match: ignore') -%}
      {%- endif -%}
      {%- if settings.delete_when is not none and not settings.soft -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ': delete: hard forgets what was deleted, and an old event would bring it back; accepted: delete: soft') -%}
      {%- endif -%}
      {%- for parent in alluvium.batch_models(node) if parent.unique_id not in selected_resources and not alluvium.is_retry() -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ': ' ~ alluvium.name_of(parent) ~ ', which stages the events, is not selected; select both: --select ' ~ alluvium.selector_of(parent) ~ '+') -%}
      {%- endfor -%}
      {%- if not alluvium.reads_events(node) -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ": nothing would read the window; accepted: a model that selects from alluvium.new_events(…, '" ~ name ~ "'), or whose parents do") -%}
      {%- endif -%}
      {#- A run-operation selects nothing. -#}
      {%- if selected_resources and node.unique_id not in selected_resources -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ': ' ~ name ~ ' is not selected, so nothing would be merged; select it too') -%}
      {%- endif -%}
      {%- if settings.null_keys == 'insert' -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ': null_keys: insert would add events without a key once more; accepted: reject, match') -%}
      {%- endif -%}
      {%- if alluvium.is_rebuilt(node) -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ': a full refresh would keep the window alone; accepted: one of the two') -%}
      {%- endif -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}


{#- Whether the model, or one upstream, may read the events that are new to it. A model upstream can have no other
    use for its name, so a macro around `new_events` is seen as well. -#}
{% macro reads_events(node) %}
  {%- if 'macro.alluvium.new_events' in node.depends_on.macros -%}{{ return(true) }}{%- endif -%}
  {%- for reader in [node] + alluvium.upstream_models(node) -%}
    {%- if alluvium.is_named_by(node, reader) -%}{{ return(true) }}{%- endif -%}
  {%- endfor -%}
  {{ return(false) }}
{% endmacro %}
