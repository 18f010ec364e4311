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


{#- The keys that SQL reads, where the adapter is not there to check them all. -#}
{% macro validate_layout(node, block, mistakes) %}
  {%- set where = node.name ~ ': meta.alluvium_layout' -%}
  {%- if block is not mapping -%}
    {%- do mistakes.append(where ~ ': ' ~ tojson(block, block | string) ~ ' is not a mapping; accepted: sort_by, and what docs/compaction.md lists') -%}
    {{ return('') }}
  {%- endif -%}
  {%- set bucket_by = block.get('bucket_by') -%}
  {%- if bucket_by is not none -%}
    {%- set windows = ['hour', 'day', 'week', 'month'] -%}
    {%- if alluvium.validate_mapping(where ~ '.bucket_by', bucket_by, {'column': 'text', 'window': windows}, mistakes) -%}
      {%- for key, accepted in {'column': 'a partition column', 'window': windows | join(', ')}.items() if key not in bucket_by -%}
        {%- do mistakes.append(where ~ '.bucket_by.' ~ key ~ ': missing; accepted: ' ~ accepted) -%}
      {%- endfor -%}
    {%- endif -%}
  {%- endif -%}
  {%- set read = {} -%}
  {%- for key in ('target_bytes', 'fan_in', 'quiet_after', 'retain') if block.get(key) is not none -%}
    {%- do read.update({key: block[key]}) -%}
  {%- endfor -%}
  {%- do alluvium.validate_mapping(where, read, {
      'target_bytes': 'size', 'fan_in': 'fan_in', 'quiet_after': 'quiet_after', 'retain': 'duration',
  }, mistakes) -%}
  {%- if 'retain' in read and bucket_by is none -%}
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
