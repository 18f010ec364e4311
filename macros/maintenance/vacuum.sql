{#- Post-hook: VACUUM of the model's table, by the table's own retention. -#}
{% macro vacuum(relation) %}
  {{ return('vacuum ' ~ relation.render() if alluvium.maintains() else '') }}
{% endmacro %}
