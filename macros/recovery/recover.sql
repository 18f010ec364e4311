{#- dbt run-operation alluvium.recover --args '{models: [flights], dry_run: false}'

    Puts tables right whose files, logs or entries in the metastore were damaged or lost, and says what is lost: a line for each thing.
    Without `models` all tables of the project and its warehouse. Nothing is deleted. A dry run unless `dry_run: false`. -#}
{% macro recover(models=none, dry_run=true) %}
  {%- set given = {'models': models, 'dry_run': dry_run} -%}
  {%- if not alluvium._begin_operation('recover', given, kwargs, 'does not look at the files of tables') -%}{{ return('') }}{%- endif -%}
  {%- set lines = adapter.recover(alluvium._ids_of_models(models, 'alluvium.recover'), dry_run) -%}
  {%- do alluvium._say(lines) -%}
  {%- if not lines -%}{%- do log('alluvium.recover: nothing to do', info=true) -%}
  {%- elif dry_run -%}{%- do log('alluvium.recover: nothing was changed (dry run; dry_run: false does it)', info=true) -%}{%- endif -%}
{% endmacro %}
