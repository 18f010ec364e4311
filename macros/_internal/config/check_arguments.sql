{#- Stops an operation, a data test or a macro with every mistake in its arguments. `unknown` are those that the macro does not have. A hook names its
    table, not a model. -#}
{% macro _check_arguments(operation, given, unknown={}, is_hook=false, kind='operation') %}
  {%- set schema = alluvium._settings_schema()[kind][operation] -%}
  {%- set accepted = schema.properties -%}
  {%- set mistakes = [] -%}
  {%- for name in unknown -%}
    {%- do mistakes.append('unknown argument ' ~ name ~ '; accepted: ' ~ (accepted | join(', ') or 'none') ~ alluvium._did_you_mean(name, accepted)) -%}
  {%- endfor -%}
  {%- for name, value in given.items() -%}
    {%- if value is none and name in schema.required -%}
      {#- A misspelt name says more. -#}
      {%- if not (unknown or is_hook) -%}{%- do mistakes.append(name ~ ' is missing; accepted: ' ~ accepted[name].accepted) -%}{%- endif -%}
    {%- elif not alluvium._fits_schema(value, accepted[name]) -%}
      {%- do mistakes.append(name ~ ' is ' ~ alluvium._shown_value(value) ~ '; accepted: ' ~ accepted[name].accepted) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if mistakes -%}
    {%- do exceptions.raise_compiler_error('alluvium.' ~ operation ~ ': ' ~ mistakes | join('\nalluvium.' ~ operation ~ ': ')) -%}
  {%- endif -%}
{% endmacro %}
