{#- Mistakes in the tiers themselves, and models whose tier is none of them. -#}
{% macro _validate_tiers(mistakes) %}
  {%- set tiers = alluvium.tiers() if alluvium.tiers() is mapping else {} -%}
  {%- for name in tiers if name | string | lower == 'default' -%}
    {%- do mistakes.append('var alluvium_tiers: a tier may not be called ' ~ name ~ ', the name of the pool of everything else; accepted: any other name') -%}
  {%- endfor -%}
  {%- for name, tier in tiers.items() if tier is mapping and tier.get('spark_conf') is mapping -%}
    {%- if tier.spark_conf.get('spark.sql.caseSensitive') | string | lower == 'true' -%}
      {%- do mistakes.append('var alluvium_tiers.' ~ name ~ '.spark_conf: spark.sql.caseSensitive may not be set, for names of columns that'
          ~ ' differ in case alone are one column to Delta; accepted: without') -%}
    {%- endif -%}
  {%- endfor -%}
  {%- set schema = alluvium._settings_schema().model.alluvium_tier -%}
  {%- for node in graph.nodes.values() if node.resource_type == 'model' and 'alluvium_tier' in (node.config.get('meta') or {}) -%}
    {%- set where = node.name ~ ': meta.alluvium_tier' -%}
    {%- set wrong = alluvium._schema_mistakes(where, node.config.meta.alluvium_tier, schema) -%}
    {%- if wrong -%}
      {%- do mistakes.extend(wrong) -%}
    {%- elif tiers and node.config.meta.alluvium_tier not in tiers -%}
      {%- do mistakes.append(where ~ ': ' ~ alluvium._shown_value(node.config.meta.alluvium_tier)
          ~ ' is not a tier; accepted: ' ~ tiers | join(', ') ~ alluvium._did_you_mean(node.config.meta.alluvium_tier, tiers)) -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}
