{#- The last of bronze's batches, of those after one and up to another, with which there are no more events than `at_most`;
    the first of them if it alone has more. -#}
{% macro _bounded_batch(bronze, after, through, at_most) %}
  {%- set batches %}
select coalesce(max(if(`events` <= {{ at_most }}, `_batch_id`, null)), min(`_batch_id`))
from (
    select `_batch_id`, sum(count(*)) over (order by `_batch_id`) as `events`
    from {{ bronze }}
    where `_batch_id` > {{ after }}L and `_batch_id` <= {{ through }}L
    group by `_batch_id`
)
  {%- endset -%}
  {{ return(run_query(batches).rows[0][0]) }}
{% endmacro %}
