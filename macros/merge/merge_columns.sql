{% macro column_types(relation) %}
  {%- set types = {} -%}
  {%- for column in adapter.get_columns_in_relation(relation) -%}
    {%- do types.update({column.name | lower: column.dtype}) -%}
  {%- endfor -%}
  {{ return(types) }}
{% endmacro %}


{#- Columns that Delta computes from others: no event carries them. Nobody can tell on a stock target. -#}
{% macro generated_columns(relation) %}
  {{ return(adapter.dispatch('generated_columns', 'alluvium')(relation)) }}
{% endmacro %}

{% macro default__generated_columns(relation) %}
  {{ return([]) }}
{% endmacro %}

{% macro alluvium__generated_columns(relation) %}
  {{ return(adapter.generated_columns(relation.render())) }}
{% endmacro %}


{#- Columns that the settings name, by the setting. -#}
{% macro needed_columns(settings) %}
  {{ return({'unique_key': settings.unique_key, 'order_by': settings.order_by,
             'ranges.column': settings.ranges.columns if settings.ranges else []}) }}
{% endmacro %}


{% macro refuse_merge(node, mistakes) %}
  {%- if mistakes -%}
    {%- do exceptions.raise_compiler_error(node.name ~ ' cannot be merged:\n  - ' ~ mistakes | join('\n  - ')) -%}
  {%- endif -%}
{% endmacro %}


{% macro check_merge_columns(target, node, settings, source_types, types) %}
  {%- set mistakes = [] -%}
  {%- for setting, columns in alluvium.needed_columns(settings).items() -%}
    {%- for column in columns -%}
      {%- if column | lower not in source_types -%}
        {%- do mistakes.append(setting ~ ': the model does not select ' ~ column) -%}
      {%- elif column | lower not in types -%}
        {%- do mistakes.append(setting ~ ': the table has no column ' ~ column ~ '; set on_schema_change or rebuild it') -%}
      {%- endif -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- if settings.soft and '_deleted' in source_types -%}
    {%- do mistakes.append('delete: soft keeps its own column _deleted, the model may not select one') -%}
  {%- endif -%}
  {%- if (node.config.get('on_schema_change') or 'ignore') == 'ignore' -%}
    {%- set missing = types | reject('in', source_types) | reject('eq', '_deleted') | list -%}
    {%- set generated = alluvium.generated_columns(target) | map('lower') | list if missing else [] -%}
    {%- for column in missing if column not in generated -%}
      {%- do mistakes.append('the model no longer selects ' ~ column ~ ', which the table has; set on_schema_change or rebuild it') -%}
    {%- endfor -%}
  {%- endif -%}
  {%- do alluvium.refuse_merge(node, mistakes) -%}
{% endmacro %}
