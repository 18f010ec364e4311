{#- The columns that rows and their partners have both, or those of them that are named. -#}
{% macro _shared_columns(relation, join, columns) %}
  {%- if columns is not none -%}
    {{ return(alluvium._column_names(columns)) }}
  {%- endif -%}
  {%- set theirs = adapter.get_columns_in_relation(join) | map(attribute='name') | map('lower') | list -%}
  {#- What `alluvium.at` gives is SQL. -#}
  {%- set ours = get_columns_in_query('select * from ' ~ relation) if relation is string
      else adapter.get_columns_in_relation(relation) | map(attribute='name') -%}
  {%- set shared = [] -%}
  {%- for name in ours if name | lower in theirs -%}
    {%- do shared.append(name) -%}
  {%- endfor -%}
  {%- if not shared -%}
    {%- do exceptions.raise_compiler_error('alluvium.prune: ' ~ relation ~ ' and ' ~ join ~ ' share no column, or are not there yet;'
        ~ ' accepted: columns, names of columns that both have') -%}
  {%- endif -%}
  {{ return(shared) }}
{% endmacro %}
