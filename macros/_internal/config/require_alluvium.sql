{#- Stops what only an alluvium target does. which: what a target of another type does not do. elsewhere: whose `enabled` may say it. -#}
{% macro _require_alluvium(who, which, elsewhere=none) %}
  {%- if target.type != 'alluvium' -%}
    {%- do exceptions.raise_compiler_error(who ~ ': the target is of type ' ~ target.type ~ ', which ' ~ which ~ '; accepted: alluvium.'
        ~ (' For other targets let `enabled` in ' ~ elsewhere ~ " say: target.type == 'alluvium'." if elsewhere else '')) -%}
  {%- endif -%}
{% endmacro %}


{#- What an operation begins with: every mistake in its arguments, its target and the settings stops it. Whether it goes on: not while dbt
    parses. unknown: its `kwargs`; which: as above, none for what every target does. -#}
{% macro _begin_operation(operation, given, unknown, which=none) %}
  {%- if not execute -%}{{ return(false) }}{%- endif -%}
  {%- do alluvium._check_arguments(operation, given, unknown) -%}
  {%- if which -%}{%- do alluvium._require_alluvium('alluvium.' ~ operation, which) -%}{%- endif -%}
  {%- do alluvium.validate() -%}
  {{ return(true) }}
{% endmacro %}


{#- The same of an operation on one model, `given.model`: the model, none while dbt parses. -#}
{% macro _model_of(operation, given, unknown, which=none) %}
  {{ return(alluvium._find_model(given.model, 'alluvium.' ~ operation) if alluvium._begin_operation(operation, given, unknown, which) else none) }}
{% endmacro %}
