{#- The models upstream that call `alluvium.new_events` for this one and keep the rows. -#}
{% macro _batch_models(node) %}
  {{ return(alluvium._kept_apart(node, alluvium._event_readers(node))) }}
{% endmacro %}


{#- Of those readers, the ones whose rows are kept in a table or view of their own. -#}
{% macro _kept_apart(node, readers) %}
  {{ return(readers | rejectattr('unique_id', 'equalto', node.unique_id) | rejectattr('config.materialized', 'equalto', 'ephemeral') | list) }}
{% endmacro %}


{#- The models that call `alluvium.new_events` for this one: itself, or some upstream. -#}
{% macro _event_readers(node) %}
  {%- set found = [] -%}
  {%- for reader in [node] + alluvium._upstream_models(node) -%}
    {%- if 'macro.alluvium.new_events' in reader.depends_on.macros and alluvium._is_named_by(node, reader, 'new_events[^}]*') -%}
      {%- do found.append(reader) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}


{% macro _upstream_models(node) %}
  {%- set found = [] -%}
  {%- for unique_id in alluvium._ancestors(node) if graph.nodes.get(unique_id, {}).resource_type == 'model' -%}
    {%- do found.append(graph.nodes[unique_id]) -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}


{#- Unique ids of all that a node is made from. -#}
{% macro _ancestors(node) %}
  {%- set found = {} -%}
  {%- set due = [node] -%}
  {#- A node comes here once. -#}
  {%- for step in range(graph.nodes | length + 1) if due -%}
    {%- for unique_id in due.pop().get('depends_on', {}).get('nodes', []) if unique_id not in found -%}
      {%- do found.update({unique_id: true}) -%}
      {%- if unique_id in graph.nodes -%}{%- do due.append(graph.nodes[unique_id]) -%}{%- endif -%}
    {%- endfor -%}
  {%- endfor -%}
  {{ return(found | list) }}
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
