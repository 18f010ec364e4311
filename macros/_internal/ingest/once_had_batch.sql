{#- Whether the history of bronze proves that its newest batches were deleted: then later ones have
    higher numbers all the same. Without a proof bronze may have been made again. -#}
{% macro once_had_batch(bronze, batch) %}
  {{ return(adapter.dispatch('once_had_batch', 'alluvium')(bronze, batch)) }}
{% endmacro %}

{% macro alluvium__once_had_batch(bronze, batch) %}
  {{ return(adapter.once_had_batch(bronze, batch)) }}
{% endmacro %}


{#- Numbers of a bronze that is not ours may start again in the table that had higher ones. -#}
{% macro default__once_had_batch(bronze, batch) %}
  {{ return(false) }}
{% endmacro %}
