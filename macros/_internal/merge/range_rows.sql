{#- The rows of a ranges model, in order. JSON keeps every bound as the text that it is, and drops NULLs. -#}
{% macro _range_rows(relation) %}
  {%- if not execute -%}{{ return([]) }}{%- endif -%}
  {{ return(fromjson(run_query(alluvium._range_rows_sql(relation)).rows[0][0] or '[]')) }}
{% endmacro %}


{% macro _range_rows_sql(relation) %}
  {{ return('select to_json(sort_array(collect_list(struct(range_no as place, *))), map(\'ignoreNullFields\', \'false\')) from ' ~ relation) }}
{% endmacro %}
