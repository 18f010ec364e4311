{#- dbt run-operation alluvium.fsck --args '{models: [flights], full: false}'

    Says whether the files of tables are what their logs say: a line for each finding, and a summary. Without `models` all tables of the
    project are looked at. Changes nothing; ends with an error where something is damaged. -#}
{% macro fsck(models=none, full=false) %}
  {%- set given = {'models': models, 'full': full} -%}
  {%- if not alluvium._begin_operation('fsck', given, kwargs, 'does not look at the files of tables') -%}{{ return('') }}{%- endif -%}
  {%- set found = adapter.fsck(alluvium._ids_of_models(models, 'alluvium.fsck'), full) -%}
  {%- do alluvium._say(found.lines()) -%}
  {%- set summary = 'alluvium.fsck: ' ~ found.summary() ~ '. What else may be wrong, and which command helps: docs/which-command.md of the package' -%}
  {%- if found.damaged -%}{%- do exceptions.raise_compiler_error(summary) -%}{%- endif -%}
  {%- do log(summary, info=true) -%}
{% endmacro %}
