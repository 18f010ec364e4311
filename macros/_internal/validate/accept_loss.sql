{#- Names in the var that mean no streaming table. -#}
{% macro _validate_accept_loss(mistakes) %}
  {%- set given = var('alluvium_accept_loss', none) -%}
  {#- What is neither a name nor a list is told with the types of all vars. -#}
  {%- set names = [given] if given is string else given if given is sequence and given is not mapping else [] -%}
  {%- for name in names -%}
    {%- set named = alluvium._models_named(name) -%}
    {%- if named | length != 1 -%}
      {%- do mistakes.append('var alluvium_accept_loss: ' ~ alluvium._naming_mistake(name, named)) -%}
    {%- elif named[0].config.materialized != 'streaming_table' -%}
      {%- do mistakes.append('var alluvium_accept_loss: ' ~ name ~ ' is materialized as ' ~ named[0].config.materialized ~ '; accepted: a streaming_table') -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}
