{#- Whether what dbt's compiler is told of tables still holds where the SQL runs. A view would keep it from the day on which it was made: so would
    failures that are stored as one. An ephemeral model may become part of a view. What runs before the query, behind this, may change what it finds. -#}
{% macro _runs_as_compiled() %}
  {{ return(execute and target.type == 'alluvium' and model is defined
      and (model.config.materialized in ('table', 'incremental', 'snapshot', 'test') or model.resource_type == 'sql_operation')
      and model.config.store_failures_as != 'view' and not model.config.sql_header
      and not (model.config['pre-hook'] or model.config.pre_hook)) }}
{% endmacro %}
