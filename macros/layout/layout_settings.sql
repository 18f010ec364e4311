{#- What SQL needs of `meta.alluvium_layout`, with its defaults; docs/compaction.md describes the keys. -#}
{% macro layout_settings(block) %}
  {%- set bucket_by = block.get('bucket_by') or {} -%}
  {%- set quiet_after = block.get('quiet_after') or 'auto' -%}
  {%- if quiet_after == 'auto' -%}
    {#- A quarter of the window, a day at most; a table without one is never quiet. -#}
    {%- set quiet_after = {'hour': '15 minutes', 'day': '6 hours', 'week': '1 day', 'month': '1 day'}.get(bucket_by.get('window')) -%}
  {%- endif -%}
  {{ return({
      'column': bucket_by.get('column'),
      'window': bucket_by.get('window'),
      'target_bytes': alluvium.size_in_bytes(block.get('target_bytes') or '128 MiB'),
      'fan_in': block.get('fan_in') or 32,
      'quiet_after': quiet_after,
      'retain': block.get('retain'),
  }) }}
{% endmacro %}


{#- A size in bytes of a number or a text such as 128 MiB; none where it is neither. -#}
{% macro size_in_bytes(value) %}
  {%- set found = modules.re.fullmatch('([1-9][0-9]{0,11})(?: ?(KiB|MiB|GiB|TiB))?', value | string) -%}
  {%- if value is boolean or not found -%}{{ return(none) }}{%- endif -%}
  {{ return(found[1] | int * {none: 1, 'KiB': 2 ** 10, 'MiB': 2 ** 20, 'GiB': 2 ** 30, 'TiB': 2 ** 40}[found[2]]) }}
{% endmacro %}


{#- What the adapter says of a layout, where it is not there. -#}
{% macro validate_layout(node, block, mistakes) %}
  {%- set where = node.name ~ ': meta.alluvium_layout' -%}
  {%- if block is not mapping -%}
    {%- do mistakes.append(where ~ ': ' ~ alluvium.shown_value(block) ~ ' is not a mapping; accepted: sort_by, and what docs/compaction.md lists') -%}
    {{ return('') }}
  {%- endif -%}
  {#- A key that is null has its default. -#}
  {%- set given = {} -%}
  {%- for key, value in block.items() if value is not none -%}{%- do given.update({key: value}) -%}{%- endfor -%}
  {%- do alluvium.walk_schema(where, given, alluvium.settings_schema().model.alluvium_layout, mistakes) -%}
  {%- if 'retain' in given and 'bucket_by' not in given -%}
    {%- do mistakes.append(where ~ '.retain: whole buckets are dropped, and without bucket_by there is one; accepted: with bucket_by') -%}
  {%- endif -%}
{% endmacro %}


{#- Whether the model makes a table that a layout can be of. -#}
{% macro validate_layout_table(node, mistakes) %}
  {%- set where = node.name ~ ': meta.alluvium_layout' -%}
  {%- if node.config.materialized in ('view', 'ephemeral', 'materialized_view') -%}
    {%- do mistakes.append(where ~ ': the model is materialized as ' ~ node.config.materialized
        ~ ', which has no files; accepted: streaming_table, incremental, table') -%}
  {%- endif -%}
  {%- if (node.config.get('file_format') or 'delta') != 'delta' -%}
    {%- do mistakes.append(where ~ ': file_format is ' ~ node.config.get('file_format') ~ '; accepted: delta') -%}
  {%- endif -%}
{% endmacro %}
