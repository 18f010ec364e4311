{#- Whether this invocation rebuilds the model from nothing. caller: unique id of the model whose SQL asks, which runs whatever dbt selected;
    none where no model asks. -#}
{% macro _is_rebuilt(node, caller=none) %}
  {{ return(alluvium._is_full_refresh(node) and (node.unique_id == caller or node.unique_id in selected_resources)) }}
{% endmacro %}


{#- Whether this invocation builds models. dbt clone, compile or list selects models too, and reads no event. -#}
{% macro _builds() %}
  {{ return(flags.WHICH in ('run', 'build', 'retry')) }}
{% endmacro %}


{#- Whether a run of the model would rebuild it. -#}
{% macro _is_full_refresh(node) %}
  {%- set full = node.config.get('full_refresh') -%}
  {{ return(flags.FULL_REFRESH if full is none else full) }}
{% endmacro %}


{#- Whether this is `dbt retry`: what it does not run again was done by the command before. On stock targets dbt says that
    nothing was selected. -#}
{% macro _is_retry() %}
  {%- if target.type == 'alluvium' -%}{{ return(adapter.is_retry()) }}{%- endif -%}
  {{ return(not selected_resources and flags.WHICH in ('run', 'build')) }}
{% endmacro %}
