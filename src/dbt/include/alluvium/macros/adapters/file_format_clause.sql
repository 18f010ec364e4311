{#- Delta is what this adapter is for: a model that names no format gets it. -#}
{% macro alluvium__file_format_clause() %}
  {%- set file_format = config.get('file_format', validator=validation.any[basestring]) -%}
    using {{ file_format if file_format is not none else 'delta' }}
{%- endmacro %}
