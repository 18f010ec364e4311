{#- What the adapter says of a layout, where it is not there. -#}
{% macro _validate_layout(node, block, mistakes) %}
  {%- set where = node.name ~ ': meta.alluvium_layout' -%}
  {%- if block is not mapping -%}
    {%- do mistakes.append(where ~ ': ' ~ alluvium._shown_value(block) ~ ' is not a mapping; accepted: a mapping of keys, with sort_by') -%}
    {{ return('') }}
  {%- endif -%}
  {#- A key that is null has its default. -#}
  {%- set given = {} -%}
  {%- for key, value in block.items() if value is not none -%}
    {%- do given.update({key: value}) -%}
  {%- endfor -%}
  {%- do alluvium._walk_schema(where, given, alluvium._settings_schema().model.alluvium_layout, mistakes) -%}
  {%- if 'retain' in given and 'bucket_by' not in given -%}
    {%- do mistakes.append(where ~ '.retain: whole buckets are dropped, and without bucket_by there is one; accepted: with bucket_by') -%}
  {%- endif -%}
{% endmacro %}


{#- Whether the model makes a table that a layout can be of. -#}
{% macro _validate_layout_table(node, mistakes) %}
  {%- set where = node.name ~ ': meta.alluvium_layout' -%}
  {%- if node.config.materialized in ('view', 'ephemeral', 'materialized_view') -%}
    {%- do mistakes.append(where ~ ': the model is materialized as ' ~ node.config.materialized
        ~ ', which has no files; accepted: streaming_table, incremental, table') -%}
  {%- endif -%}
  {%- if (node.config.get('file_format') or 'delta') != 'delta' -%}
    {%- do mistakes.append(where ~ ': file_format is ' ~ node.config.get('file_format') ~ '; accepted: delta') -%}
  {%- endif -%}
{% endmacro %}
