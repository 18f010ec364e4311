{#- Stops what only an alluvium target does. which: what a target of another type does not do. elsewhere: whose `enabled` may say it. -#}
{% macro _require_alluvium(who, which, elsewhere=none) %}
  {%- if target.type != 'alluvium' -%}
    {%- do exceptions.raise_compiler_error(who ~ ': the target is of type ' ~ target.type ~ ', which ' ~ which ~ '; accepted: alluvium.'
        ~ (' For other targets let `enabled` in ' ~ elsewhere ~ " say: target.type == 'alluvium'." if elsewhere else '')) -%}
  {%- endif -%}
{% endmacro %}


{#- What an operation of an alluvium target begins with: every mistake in its arguments, its target and the settings stops it.
    unknown: its `kwargs`; which: as above. -#}
{% macro _begin_operation(operation, given, unknown, which) %}
  {%- do alluvium._check_arguments(operation, given, unknown) -%}
  {%- do alluvium._require_alluvium('alluvium.' ~ operation, which) -%}
  {%- do alluvium.validate() -%}
{% endmacro %}
