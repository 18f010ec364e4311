{#- The node of a model by name, the root project's before a package's; none where there is none. -#}
{% macro find_model(name) %}
  {%- set found = [] -%}
  {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.name == name -%}
    {%- do found.insert(0 if node.package_name == project_name else found | length, node) -%}
  {%- endfor -%}
  {{ return(found[0] if found else none) }}
{% endmacro %}


{% macro existing_relation(node) %}
  {{ return(adapter.get_relation(database=node.database, schema=node.schema, identifier=node.alias)) }}
{% endmacro %}
