{#- Post-hook: OPTIMIZE of the model's table. -#}
{% macro optimize(relation) %}
  {%- if alluvium._has_layout() -%}{{ return(alluvium._compact_instead('optimize', relation)) }}{%- endif -%}
  {{ return('optimize ' ~ relation.render() if alluvium._files_may_have_changed() else '') }}
{% endmacro %}
