{% test freshness_slo(model, events=none, slo=none) %}
  {%- do alluvium._check_arguments('freshness_slo', {'events': events}, kwargs, kind='test') -%}
  {%- set limit = slo or alluvium._tested_tier().get('slo') if execute else '1 day' -%}
  {%- if not alluvium._fits_schema(limit, alluvium._value_schemas().duration) -%}
    {%- do exceptions.raise_compiler_error("alluvium.freshness_slo: slo is '" ~ limit
        ~ "'; accepted: a number of minutes, hours, days or weeks, or a model whose meta.alluvium_tier has an slo.") -%}
  {%- endif -%}
  {#- `dbt compile --no-introspect` has no connection. -#}
  {%- set is_asked = execute and flags.INTROSPECT is not sameas false -%}
  {%- set progress = alluvium._tested_progress() if is_asked else none -%}
  {%- set skipped = alluvium._skipped(alluvium._tested_node()) if is_asked else '' %}
select
    `_batch_id`,
    count(*) as events,
    min(`_source_timestamp`) as waiting_since
from {{ events }} as bronze
where
    `_batch_id` > {{ progress if progress is not none else -1 }}{{ skipped }}
    and `_source_timestamp` < current_timestamp() - interval {{ limit }}
group by `_batch_id`
{% endtest %}
