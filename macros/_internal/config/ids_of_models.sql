{#- Unique ids of the models that an operation is given, a name or a list of names; none where it is given none. -#}
{% macro _ids_of_models(models, who) %}
  {%- if models is none -%}{{ return(none) }}{%- endif -%}
  {%- set ids = [] -%}
  {%- for name in alluvium._as_list(models) -%}{%- do ids.append(alluvium._find_model(name, who).unique_id) -%}{%- endfor -%}
  {{ return(ids) }}
{% endmacro %}
