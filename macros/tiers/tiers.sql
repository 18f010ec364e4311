{#- The tiers that `meta.alluvium_tier` may name, from the var `alluvium_tiers`: each a share of Spark's
    scheduler, a freshness objective and Spark settings. See docs/tiers.md. -#}
{% macro tiers() %}
  {{ return(var('alluvium_tiers', {
      'realtime': {'weight': 4, 'min_share': 1, 'slo': '15 minutes'},
      'hourly': {'weight': 2, 'slo': '2 hours'},
      'daily': {'weight': 1, 'slo': '26 hours'},
  })) }}
{% endmacro %}


{% macro validate_tiers(mistakes) %}
  {%- set where = 'var alluvium_tiers' -%}
  {%- set tiers = alluvium.tiers() -%}
  {%- if tiers is not mapping or not tiers -%}
    {%- do mistakes.append(where ~ ': ' ~ tojson(tiers, tiers | string) ~ ' is not accepted; accepted: a mapping of names to tiers') -%}
    {{ return('') }}
  {%- endif -%}
  {%- for name, tier in tiers.items() -%}
    {%- if name | lower == 'default' -%}
      {%- do mistakes.append(where ~ ': a tier may not be called ' ~ name ~ ', the name of the pool of everything else; accepted: any other name') -%}
    {%- endif -%}
    {%- do alluvium.validate_mapping(where ~ '.' ~ name, tier, {
        'weight': 'count', 'min_share': 'number', 'slo': 'duration', 'spark_conf': 'mapping',
    }, mistakes) -%}
  {%- endfor -%}
  {%- for node in graph.nodes.values() if node.resource_type == 'model' and 'alluvium_tier' in (node.config.get('meta') or {}) -%}
    {%- if node.config.meta.alluvium_tier not in tiers -%}
      {%- do mistakes.append(node.name ~ ': meta.alluvium_tier: ' ~ tojson(node.config.meta.alluvium_tier, node.config.meta.alluvium_tier | string)
          ~ ' is not a tier; accepted: ' ~ tiers | join(', ')) -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}
