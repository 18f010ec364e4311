{#- In these the global `model` is the test's node; in the test itself the tested relation hides it. -#}
{% macro _tested_node() %}
  {{ return(graph.nodes[model.attached_node]) }}
{% endmacro %}


{% macro _tested_tier() %}
  {{ return(alluvium.tiers().get((alluvium._tested_node().config.meta or {}).get('alluvium_tier')) or {}) }}
{% endmacro %}


{% macro _tested_progress() %}
  {%- set node = alluvium._tested_node() -%}
  {%- set relation = alluvium._existing_relation(node) -%}
  {{ return(alluvium.read_progress(relation, node.unique_id) if relation is not none else none) }}
{% endmacro %}
