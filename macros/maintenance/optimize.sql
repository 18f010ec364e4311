{#- Post-hook: OPTIMIZE of the model's table. -#}
{% macro optimize(relation) %}
  {%- if alluvium.has_layout() -%}{{ return(alluvium.compact_instead('optimize', relation)) }}{%- endif -%}
  {{ return('optimize ' ~ relation.render() if alluvium.rewrites() else '') }}
{% endmacro %}
