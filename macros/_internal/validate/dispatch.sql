{#- On stock targets a macro of another package wins unless the root project dispatches to ours. -#}
{% macro _validate_dispatch(merged, mistakes) %}
  {%- if target.type == 'alluvium' or not merged -%}{{ return('') }}{%- endif -%}
  {#- dbt reads the names when it parses: they have to stand here as they are. -#}
  {%- set winners = {
      'get_merge_sql': adapter.dispatch('get_merge_sql', 'dbt').macro.package_name,
      'create_table_as': adapter.dispatch('create_table_as', 'dbt').macro.package_name,
  } -%}
  {%- for name, winner in winners.items() -%}
    {%- if winner != 'alluvium' and winner[:3] == 'dbt' -%}
      {%- do mistakes.append('dispatch: ' ~ name ~ ' is taken from ' ~ winner
          ~ ', which knows nothing of meta.alluvium_merge; accepted: in dbt_project.yml `dispatch:` with'
          ~ ' macro_namespace: dbt and search_order: [' ~ project_name ~ ', alluvium, dbt]') -%}
    {%- elif winner != 'alluvium' -%}
      {%- do exceptions.warn('dispatch: ' ~ name ~ ' is taken from package ' ~ winner
          ~ '. What alluvium does for meta.alluvium_merge works only if that macro calls the one of alluvium.') -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}
