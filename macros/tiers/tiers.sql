{#- The tiers that `meta.alluvium_tier` may name, from the var `alluvium_tiers`: each a share of Spark's
    scheduler, a freshness objective and Spark settings. See docs/tiers.md. -#}
{% macro tiers() %}
  {{ return(var('alluvium_tiers', {
      'realtime': {'weight': 4, 'min_share': 1, 'slo': '15 minutes'},
      'hourly': {'weight': 2, 'slo': '2 hours'},
      'daily': {'weight': 1, 'slo': '26 hours'},
  })) }}
{% endmacro %}
