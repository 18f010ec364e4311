{#- A rebuild has to read all events again. Where another model stages them, that model has to be built in the same
    invocation, or before what `dbt retry` takes up. Else the table would be rebuilt from the last batch alone. -#}
{% macro _validate_full_refresh(node, mistakes) %}
  {%- if not alluvium._builds() -%}{{ return(none) }}{%- endif -%}
  {%- if alluvium._is_retry() -%}
    {%- if target.type != 'alluvium' and alluvium._is_full_refresh(node) and alluvium._batch_models(node) -%}
      {%- do mistakes.append(alluvium._name_of(node) ~ ': a full refresh reads all events again, and on a ' ~ target.type
          ~ ' target dbt retry does not say what it runs; accepted: the command itself with --full-refresh --select ' ~ alluvium._selector_of(node)) -%}
    {%- endif -%}
  {%- elif alluvium._is_rebuilt(node) -%}
    {%- for parent in alluvium._batch_models(node) if parent.unique_id not in selected_resources -%}
      {%- do mistakes.append(alluvium._name_of(node) ~ ': a full refresh reads all events again, and ' ~ alluvium._name_of(parent)
          ~ ', which stages them, is not selected; select both: --select ' ~ alluvium._selector_of(parent) ~ '+') -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}
