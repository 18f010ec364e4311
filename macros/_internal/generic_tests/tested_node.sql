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
  {{ return(alluvium._read_progress(relation, node.unique_id) if relation is not none else none) }}
{% endmacro %}


{#- The table of the published model that shows the tested one; none where there is none yet, or where dbt reads no whole tables. By name
    and no `ref`: the published model is built after its candidate's tests. name: of the published model, or none. -#}
{% macro _tested_head(name=none) %}
  {%- if flags.INTROSPECT is sameas false -%}{{ return(none) }}{%- endif -%}
  {%- do alluvium._require_alluvium('alluvium.rows_kept', 'publishes nothing', 'the config') -%}
  {%- set node = alluvium._tested_node() -%}
  {%- set found = alluvium._shown_by(node.unique_id) -%}
  {%- set named = alluvium._find_model(name, 'alluvium.rows_kept: published') if name is not none else none -%}
  {%- set meant = found | selectattr('unique_id', 'eq', named.unique_id) | list if named else found -%}
  {%- if meant | length != 1 -%}
    {%- set names = [] -%}
    {%- for one in found -%}{%- do names.append(alluvium._name_of(one)) -%}{%- endfor -%}
    {%- do exceptions.raise_compiler_error('alluvium.rows_kept: ' ~ (
        'no published model shows ' ~ alluvium._name_of(node) ~ '; accepted: a test of a model that one shows' if not found
        else name ~ ' does not show ' ~ alluvium._name_of(node) ~ '; accepted: published: ' ~ names | join(', ') if name is not none
        else names | join(', ') ~ ' show ' ~ alluvium._name_of(node) ~ '; accepted: published: one of them')) -%}
  {%- endif -%}
  {%- if flags.EMPTY or invocation_args_dict.sample -%}{{ return(none) }}{%- endif -%}
  {{ return(alluvium._existing_relation(meant[0])) }}
{% endmacro %}
