{#- Post-hook: OPTIMIZE ZORDER BY `columns`; by default the merge's key and its range columns. -#}
{% macro zorder(relation, columns=none) %}
  {%- if alluvium._has_layout() -%}{{ return(alluvium._compact_instead('zorder', relation)) }}{%- endif -%}
  {%- if not alluvium._files_may_have_changed() -%}{{ return('') }}{%- endif -%}
  {%- set settings = alluvium._merge_settings(model) -%}
  {%- set wanted = alluvium._as_list(columns) -%}
  {%- if not wanted and settings -%}
    {%- set wanted = settings.unique_key + (settings.ranges.columns if settings.ranges else []) -%}
  {%- endif -%}
  {#- Partition columns are sorted by already, and Delta refuses them. -#}
  {%- set partition = alluvium._as_list(config.get('partition_by')) | map('lower') | list -%}
  {%- set names = [] -%}
  {%- for column in wanted if column | lower not in partition and alluvium._quote(column) not in names -%}
    {%- do names.append(alluvium._quote(column)) -%}
  {%- endfor -%}
  {%- if not names -%}
    {%- do exceptions.raise_compiler_error('alluvium.zorder: ' ~ relation ~ ' has no meta.alluvium_merge to take columns from;'
        ~ " accepted: alluvium.zorder(this, ['a', 'b'])") -%}
  {%- endif -%}
  {{ return('optimize ' ~ relation.render() ~ ' zorder by (' ~ names | join(', ') ~ ')') }}
{% endmacro %}
