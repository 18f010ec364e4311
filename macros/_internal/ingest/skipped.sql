{#- A condition, with `and` before, that leaves out the batches that `alluvium.restore` was told to skip; empty for none. A full refresh heeds
    it too, for the table keeps it. -#}
{% macro _skipped(node) %}
  {%- if target.type != 'alluvium' -%}{{ return('') }}{%- endif -%}
  {%- set relation = alluvium._existing_relation(node) -%}
  {%- if relation is none or relation.type != 'table' or not relation.is_delta -%}{{ return('') }}{%- endif -%}
  {%- set batches = adapter.skipped_batches(relation.render(), node.unique_id) -%}
  {{ return(' and `_batch_id` not in (' ~ batches | join('L, ') ~ 'L)' if batches else '') }}
{% endmacro %}
