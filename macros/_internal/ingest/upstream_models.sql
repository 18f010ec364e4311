{#- The models upstream that call `alluvium.new_events` for this one and keep the rows. -#}
{% macro _batch_models(node) %}
  {%- set found = [] -%}
  {%- for parent in alluvium._upstream_models(node) -%}
    {%- if 'macro.alluvium.new_events' in parent.depends_on.macros and parent.config.materialized != 'ephemeral'
           and alluvium._is_named_by(node, parent, 'new_events[^}]*') -%}
      {%- do found.append(parent) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}


{% macro _upstream_models(node) %}
  {%- set found = [] -%}
  {%- set queue = node.depends_on.nodes | list -%}
  {%- set seen = [] -%}
  {%- for step in range(graph.nodes | length) if queue -%}
    {%- set parent = graph.nodes.get(queue.pop()) -%}
    {%- if parent and parent.resource_type == 'model' and parent.unique_id not in seen -%}
      {%- do seen.append(parent.unique_id) -%}
      {%- do queue.extend(parent.depends_on.nodes | reject('in', seen) | list) -%}
      {%- do found.append(parent) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}


{#- Whether the model, or one upstream, may read the events that are new to it. A model upstream can have no other
    use for its name, so a macro around `new_events` is seen as well. -#}
{% macro _reads_events(node) %}
  {%- if 'macro.alluvium.new_events' in node.depends_on.macros -%}{{ return(true) }}{%- endif -%}
  {%- for reader in [node] + alluvium._upstream_models(node) -%}
    {%- if alluvium._is_named_by(node, reader) -%}{{ return(true) }}{%- endif -%}
  {%- endfor -%}
  {{ return(false) }}
{% endmacro %}
