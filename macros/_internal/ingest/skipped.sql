{#- A condition, with `and` before, that leaves out the events that `alluvium.restore` was told to skip; empty for none. A full refresh heeds
    it too, for the table keeps it. -#}
{% macro _skipped(node) %}
  {%- if target.type != 'alluvium' -%}{{ return('') }}{%- endif -%}
  {%- set relation = alluvium._existing_relation(node) -%}
  {%- if relation is none or relation.type != 'table' or not relation.is_delta -%}{{ return('') }}{%- endif -%}
  {%- set skipped = adapter.skipped_batches(relation.render(), node.unique_id) -%}
  {%- set conditions = [] -%}
  {%- if skipped.batches -%}
    {%- do conditions.append(' and `_batch_id` not in (' ~ skipped.batches | join('L, ') ~ 'L)') -%}
  {%- endif -%}
  {%- for batch, file in skipped.files -%}
    {%- do conditions.append(' and not (`_batch_id` <=> ' ~ batch ~ 'L and `_source_partition` <=> ' ~ adapter.literal(file) ~ ')') -%}
  {%- endfor -%}
  {{ return(conditions | join) }}
{% endmacro %}
