{#- What SQL needs of `meta.alluvium_layout`, with its defaults; docs/compaction.md describes the keys. -#}
{% macro _layout_settings(block) %}
  {%- set bucket_by = block.get('bucket_by') or {} -%}
  {%- set quiet_after = block.get('quiet_after') or 'auto' -%}
  {%- if quiet_after == 'auto' -%}
    {#- A quarter of the window, a day at most; a table without one is never quiet. -#}
    {%- set quiet_after = {'hour': '15 minutes', 'day': '6 hours', 'week': '1 day', 'month': '1 day'}.get(bucket_by.get('window')) -%}
  {%- endif -%}
  {{ return({
      'column': alluvium._bare(bucket_by.get('column')),
      'window': bucket_by.get('window'),
      'target_bytes': alluvium._size_in_bytes(block.get('target_bytes') or '128 MiB'),
      'fan_in': block.get('fan_in') or 32,
      'quiet_after': quiet_after,
      'retain': block.get('retain'),
  }) }}
{% endmacro %}


{#- A size in bytes of a number or a text such as 128 MiB; none where it is neither. -#}
{% macro _size_in_bytes(value) %}
  {%- set found = modules.re.fullmatch('([1-9][0-9]{0,11})(?: ?(KiB|MiB|GiB|TiB))?', value | string) -%}
  {%- if value is boolean or not found -%}{{ return(none) }}{%- endif -%}
  {{ return(found[1] | int * {none: 1, 'KiB': 2 ** 10, 'MiB': 2 ** 20, 'GiB': 2 ** 30, 'TiB': 2 ** 40}[found[2]]) }}
{% endmacro %}


{#- `meta.alluvium_layout` of the model that a post-hook belongs to. -#}
{% macro _layout_of_hook(hook, relation) %}
  {%- set block = (config.get('meta') or {}).get('alluvium_layout') -%}
  {%- if block is none -%}
    {%- do exceptions.raise_compiler_error('alluvium.' ~ hook ~ ': ' ~ relation ~ ' has no meta.alluvium_layout, and its model has this hook;'
        ~ ' accepted: a layout with sort_by, or no hook') -%}
  {%- endif -%}
  {{ return(block) }}
{% endmacro %}
