{#- What the adapter says of published models, where it is not there: a stock target publishes none. -#}
{% macro _validate_published(node, mistakes) %}
  {%- if node.config.materialized == 'published' -%}
    {%- do mistakes.append(node.name ~ ': materialized: published, and the target is of type ' ~ target.type
        ~ ', which publishes nothing; accepted: in its config enabled: "{' ~ "{ target.type == 'alluvium' }" ~ '}"') -%}
  {%- elif 'alluvium_publish' in (node.config.get('meta') or {}) -%}
    {%- do mistakes.append(node.name ~ ': meta.alluvium_publish is read of published models only; accepted: materialized: published') -%}
  {%- endif -%}
{% endmacro %}
