{#- dbt run-operation alluvium.recover --args '{models: [flights], dry_run: false}'

    Puts tables right whose files, logs or entries in the metastore were damaged or lost, and says what is lost: a line for each thing.
    Without `models` all tables of the project and its warehouse. Nothing is deleted. A dry run unless `dry_run: false`. -#}
{% macro recover(models=none, dry_run=true) %}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- do alluvium._begin_operation('recover', {'models': models, 'dry_run': dry_run}, kwargs, 'does not look at the files of tables') -%}
  {%- set lines = adapter.recover(alluvium._ids_of_models(models, 'alluvium.recover'), dry_run) -%}
  {%- for line in lines -%}{%- do log(line, info=true) -%}{%- endfor -%}
  {%- if not lines -%}{%- do log('alluvium.recover: nothing to do', info=true) -%}
  {%- elif dry_run -%}{%- do log('alluvium.recover: nothing was changed (dry run; dry_run: false does it)', info=true) -%}{%- endif -%}
{% endmacro %}
