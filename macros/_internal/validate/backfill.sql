{#- Mistakes in the var: a backfill of a table that cannot take an event twice, or of no model. -#}
{% macro _validate_backfill(mistakes) %}
  {%- set given = var('alluvium_backfill', none) -%}
  {%- if given is not mapping -%}{{ return('') }}{%- endif -%}
  {%- set where = 'var alluvium_backfill' -%}
  {%- set schema = alluvium._settings_schema() -%}
  {%- set bounds = schema.var.alluvium_backfill.additionalProperties -%}
  {%- set asked = [] -%}
  {%- for name, window in given.items() -%}
    {%- set named = alluvium._models_named(name) -%}
    {%- set node = named[0] if named | length == 1 else none -%}
    {%- set block = (node.config.get('meta') or {}).get('alluvium_merge') if node else none -%}
    {#- Of a model whose own settings are wrong, those are told. -#}
    {%- set wrong = block is not none and alluvium._schema_mistakes(name, block, schema.model.alluvium_merge) -%}
    {%- set settings = alluvium._merge_settings(node) if node and not wrong else none -%}
    {%- if wrong -%}
    {%- elif node is none -%}
      {%- do mistakes.append(where ~ ': ' ~ alluvium._naming_mistake(name, named)) -%}
    {%- elif settings is none -%}
      {%- do mistakes.append(where ~ ': ' ~ name ~ ' is not a model with meta.alluvium_merge; accepted: the name of one') -%}
    {%- elif node.unique_id in asked -%}
      {%- do mistakes.append(where ~ '.' ~ name ~ ': ' ~ node.unique_id ~ ' is named twice; accepted: one window for a model') -%}
    {%- elif window is mapping -%}
      {%- do asked.append(node.unique_id) -%}
      {#- What is wrong with one bound alone is told with the types of all vars. -#}
      {%- set right = alluvium._right_values(where, window, bounds) -%}
      {%- for first, last, why in [('from_batch', 'through_batch', 'is after'), ('from_time', 'before_time', 'is not before')]
             if first in right and last in right -%}
        {%- set low = right[first] if first == 'from_batch' else alluvium._moment_text(right[first]) -%}
        {%- set high = right[last] if first == 'from_batch' else alluvium._moment_text(right[last]) -%}
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
      {%- for parent in alluvium._batch_models(node) if alluvium._builds() and parent.unique_id not in selected_resources and not alluvium._is_retry() -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ': ' ~ alluvium._name_of(parent) ~ ', which stages the events, is not selected; select both: --select ' ~ alluvium._selector_of(parent) ~ '+') -%}
      {%- endfor -%}
      {%- if not alluvium._reads_events(node) -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ": nothing would read the window; accepted: a model that selects from alluvium.new_events(…, '" ~ name ~ "'), or whose parents do") -%}
      {%- endif -%}
      {#- A run-operation selects nothing. -#}
      {%- if alluvium._builds() and selected_resources and node.unique_id not in selected_resources -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ': ' ~ name ~ ' is not selected, so nothing would be merged; select it too') -%}
      {%- endif -%}
      {%- if settings.null_keys == 'insert' -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ': null_keys: insert would add events without a key once more; accepted: reject, match') -%}
      {%- endif -%}
      {%- if alluvium._builds() and alluvium._is_rebuilt(node) -%}
        {%- do mistakes.append(where ~ '.' ~ name ~ ': a full refresh would keep the window alone; accepted: one of the two') -%}
      {%- endif -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}
