{% test freshness_slo(model, events=none, slo=none) %}
  {%- do alluvium.check_arguments('freshness_slo', {'events': events}, kwargs, kind='test') -%}
  {%- set limit = slo or alluvium.tested_tier().get('slo') if execute else '1 day' -%}
  {%- if not alluvium.is_duration(limit) -%}
    {%- do exceptions.raise_compiler_error("alluvium.freshness_slo: slo is '" ~ limit
        ~ "'; accepted: a number of minutes, hours, days or weeks, or a model whose meta.alluvium_tier has an slo.") -%}
  {%- endif -%}
  {#- `dbt compile --no-introspect` has no connection. -#}
  {%- set progress = alluvium.tested_progress() if execute and flags.INTROSPECT is not sameas false else none %}
select
    `_batch_id`,
    count(*) as events,
    min(`_source_timestamp`) as waiting_since
from {{ events }} as bronze
where
    `_batch_id` > {{ progress if progress is not none else -1 }}
    and `_source_timestamp` < current_timestamp() - interval {{ limit }}
group by `_batch_id`
{% endtest %}


{#- In these the global `model` is the test's node; in the test itself the tested relation hides it. -#}
{% macro tested_node() %}
  {{ return(graph.nodes[model.attached_node]) }}
{% endmacro %}

{% macro tested_tier() %}
  {{ return(alluvium.tiers().get((alluvium.tested_node().config.meta or {}).get('alluvium_tier')) or {}) }}
{% endmacro %}

{% macro tested_progress() %}
  {%- set node = alluvium.tested_node() -%}
  {%- set relation = alluvium.existing_relation(node) -%}
  {{ return(alluvium.read_progress(relation, node.unique_id) if relation is not none else none) }}
{% endmacro %}
