{#- SQL functions of the catalog: Spark knows DEFAULT and [NOT] DETERMINISTIC, and a body by RETURN. -#}
{% macro alluvium__scalar_function_create_replace_signature_sql(target_relation) %}
    CREATE OR REPLACE FUNCTION {{ target_relation.render() }} ({{ formatted_scalar_function_args_sql() }})
    RETURNS {{ model.returns.data_type }}
    {{ scalar_function_volatility_sql() }}
{% endmacro %}


{% macro alluvium__formatted_scalar_function_args_sql() %}
  {%- for arg in model.arguments -%}
    {{ adapter.quote(arg.name) }} {{ arg.data_type }}
    {%- if arg.get('default_value') is not none %} DEFAULT {{ arg.default_value }}{% endif -%}
    {{ ', ' if not loop.last }}
  {%- endfor -%}
{% endmacro %}


{% macro alluvium__scalar_function_volatility_sql() %}
  {%- set volatility = model.config.get('volatility') -%}
  {%- if volatility == 'deterministic' -%} DETERMINISTIC
  {%- elif volatility == 'non-deterministic' -%} NOT DETERMINISTIC
  {%- elif volatility is not none -%}
    {%- do unsupported_volatility_warning(volatility) -%}
  {%- endif -%}
{% endmacro %}


{% macro alluvium__scalar_function_body_sql() %}
    RETURN {{ model.compiled_code }}
{% endmacro %}
