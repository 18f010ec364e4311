{#- dbt run-operation alluvium.branch --args '{name: fix, models: [flights_wap, flights]}'

    Makes schemas of clones of models' tables, with the progress of their merges, on which builds go on as they would on the tables. Copies
    no file. A target whose schema is the branch's builds there. `timestamp` says from when, now by default. What a kill left undone
    the same command does. -#}
{% macro branch(name=none, models=none, timestamp=none, dry_run=false) %}
  {%- set given = {'name': name, 'models': models, 'timestamp': timestamp, 'dry_run': dry_run} -%}
  {%- if not alluvium._begin_operation('branch', given, kwargs, 'makes no branches') -%}{{ return('') }}{%- endif -%}
  {%- set ids = alluvium._ids_of_models(models, 'alluvium.branch') -%}
  {%- for line in adapter.branch(name, ids, timestamp and timestamp | string, dry_run) -%}{%- do alluvium._tell(line, dry_run) -%}{%- endfor -%}
{% endmacro %}
