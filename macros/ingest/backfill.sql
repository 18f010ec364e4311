{#- Condition on bronze for the events that the var `alluvium_backfill` asks to merge once more into
    the model; none where it asks for nothing. See docs/merge.md. -#}
{% macro backfill(node) %}
  {%- set windows = [] -%}
  {%- for name, window in (var('alluvium_backfill', none) or {}).items() if window -%}
    {%- if alluvium.find_model(name, 'var alluvium_backfill').unique_id == node.unique_id -%}{%- do windows.append(window) -%}{%- endif -%}
  {%- endfor -%}
  {%- if not windows -%}{{ return(none) }}{%- endif -%}
  {%- set window = windows[0] -%}
  {%- set terms = [] -%}
  {%- for key, value in window.items() -%}
    {%- if key == 'from_batch' -%}{%- do terms.append('`_batch_id` >= ' ~ value | int ~ 'L') -%}
    {%- elif key == 'through_batch' -%}{%- do terms.append('`_batch_id` <= ' ~ value | int ~ 'L') -%}
    {%- elif key == 'from_time' -%}{%- do terms.append('`_source_timestamp` >= timestamp' ~ alluvium.text_literal(alluvium.moment_text(value))) -%}
    {%- elif key == 'before_time' -%}{%- do terms.append('`_source_timestamp` < timestamp' ~ alluvium.text_literal(alluvium.moment_text(value))) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(terms | join(' and ')) }}
{% endmacro %}


{#- A date, or a date and time to the minute or second, as the text of a timestamp literal. -#}
{% macro moment_text(value) %}
  {%- set text = value | string | replace('T', ' ') -%}
  {{ return(text ~ ' 00:00:00'[text | length - 10:] ~ ' UTC') }}
{% endmacro %}


{#- Mistakes in the var: a backfill of a table that cannot take an event twice, or of no model. -#}
{% macro validate_backfill(mistakes) %}
  {%- set given = var('alluvium_backfill', none) -%}
  {%- if given is none -%}{{ return('') }}{%- endif -%}
  {%- set where = 'var alluvium_backfill' -%}
  {%- if given is not mapping -%}
    {%- do mistakes.append(where ~ ': ' ~ given ~ ' is not a mapping; accepted: {model: {from_batch: 3, through_batch: 5}}') -%}
    {{ return('') }}
  {%- endif -%}
  {%- set asked = [] -%}
  {%- for name, window in given.items() -%}
    {%- set named = alluvium.models_named(name) -%}
    {%- set node = named[0] if named | length == 1 else none -%}
    {%- set settings = alluvium.merge_settings(node) if node else none -%}
    {%- if node is none -%}
      {%- do mistakes.append(where ~ ': ' ~ alluvium.naming_mistake(name, named)) -%}
    {%- elif settings is none -%}
      {%- do mistakes.append(where ~ ': ' ~ name ~ ' is no model with meta.alluvium_merge') -%}
    {%- elif node.unique_id in asked -%}
      {%- do mistakes.append(where ~ '.' ~ name ~ ': ' ~ node.unique_id ~ ' is named twice; accepted: one window for a model') -%}
    {%- elif alluvium.validate_mapping(where ~ '.' ~ name, window, {
        'from_batch': 'number', 'through_batch': 'number', 'from_time': 'moment', 'before_time': 'moment',
    }, mistakes) -%}
      {%- do asked.append(node.unique_id) -%}
      {%- if not window -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ': says no window; accepted: from_batch, through_batch, from_time, before_time') -%}
      {%- endif -%}
      {%- if settings.on_match == 'update' and not settings.order_by -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ': without order_by an old event would replace a newer row; accepted: a model with order_by, or on_match: ignore') -%}
      {%- endif -%}
      {%- if settings.delete_when is not none and not settings.soft -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ': delete: hard forgets what was deleted, and an old event would bring it back; accepted: delete: soft') -%}
      {%- endif -%}
      {%- for parent in alluvium.batch_models(node) if parent.unique_id not in selected_resources -%}
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
