{#- Post-hook: OPTIMIZE of the model's table. -#}
{% macro optimize(relation) %}
  {{ return('optimize ' ~ relation.render() if alluvium.rewrites() else '') }}
{% endmacro %}
