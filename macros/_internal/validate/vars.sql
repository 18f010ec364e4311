{#- The vars: their types, and names that nobody reads. dbt shows a stock target those of the command line alone. -#}
{% macro _validate_vars(schema, mistakes) %}
  {%- set unset = '(not set)' -%}
  {%- for name, rule in schema.items() -%}
    {%- set value = var(name, unset) -%}
    {%- if value != unset -%}{%- do mistakes.extend(alluvium._schema_mistakes('var ' ~ name, value, rule)) -%}{%- endif -%}
  {%- endfor -%}
  {%- set given = adapter.given_vars() if target.type == 'alluvium' else invocation_args_dict.vars or {} -%}
  {%- for name in given if name not in schema -%}
    {%- if name is string and name[:9] == 'alluvium_' -%}
      {%- do mistakes.append('var ' ~ name ~ ' is not known; accepted: ' ~ schema | join(', ') ~ alluvium._did_you_mean(name, schema)) -%}
    {%- else -%}
      {%- do alluvium._warn_of_near_miss('var ' ~ name, name, schema) -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}
