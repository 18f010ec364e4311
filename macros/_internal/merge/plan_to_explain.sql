{#- What the next merge would do: `pending`, the batch's `profile`, `settings`, `method` and `ranges`, the `predicate`.
    `kept` are the files that it leaves as Delta's own skipping finds them, where there is a session. `engine` is what
    will run the merge, and why it is not the one-commit merge where that was not asked for. -#}
{% macro plan_to_explain(relation, source, node) %}
  {%- set predicates = node.config.get('predicates') or node.config.get('incremental_predicates') -%}
  {{ return(adapter.dispatch('plan_to_explain', 'alluvium')(relation, source, node, predicates)) }}
{% endmacro %}

{% macro default__plan_to_explain(relation, source, node, predicates) %}
  {{ return(dict(alluvium._merge_plan(relation, source, node, predicates), engine='merge_into')) }}
{% endmacro %}

{% macro alluvium__plan_to_explain(relation, source, node, predicates) %}
  {{ return(adapter.explain_merge(relation, source, node, predicates)) }}
{% endmacro %}
