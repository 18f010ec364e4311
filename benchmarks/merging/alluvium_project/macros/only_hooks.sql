{#- A model that is nothing but its hooks: what they cost is what it takes. -#}
{% materialization only_hooks, adapter='alluvium' %}
  {{ run_hooks(post_hooks) }}
  {%- do store_result('main', response='OK') -%}
  {{ return({'relations': []}) }}
{% endmaterialization %}
