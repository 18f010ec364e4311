{#- dbt run-operation alluvium.merge_branch --args '{name: fix, models: [flights_wap]}'

    Brings the rows that changed on a branch into the models' tables, three ways by `unique_key`, each in one commit. Where rows changed on
    both sides and not alike, it lists them and changes nothing, unless `prefer` says whose rows are taken: `branch` or `table`. -#}
{% macro merge_branch(name=none, models=none, prefer=none, dry_run=false) %}
  {%- set given = {'name': name, 'models': models, 'prefer': prefer, 'dry_run': dry_run} -%}
  {%- if not alluvium._begin_operation('merge_branch', given, kwargs, 'makes no branches') -%}{{ return('') }}{%- endif -%}
  {%- set ids = alluvium._ids_of_models(models, 'alluvium.merge_branch') -%}
  {%- for line in adapter.merge_branch(name, ids, prefer, dry_run) -%}{%- do alluvium._tell(line, dry_run) -%}{%- endfor -%}
{% endmacro %}
