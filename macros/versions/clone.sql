{#- dbt run-operation alluvium.clone --args '{model: flights, to: lab.flights_copy, version: 41}'

    Makes a table that shows a version of a model's table and goes its own way from there. `version`, `timestamp`, `tag`
    or `batch` says which, the newest by default. Copies no file. -#}
{% macro clone(model=none, to=none, version=none, timestamp=none, tag=none, batch=none, message=none, dry_run=false) %}
  {%- set point = {'version': version, 'timestamp': timestamp, 'tag': tag, 'batch': batch} -%}
  {%- set given = dict(point, model=model, to=to, message=message, dry_run=dry_run) -%}
  {%- set node = alluvium._model_of('clone', given, kwargs, 'makes no tags and clones') -%}
  {%- if not node -%}{{ return('') }}{%- endif -%}
  {%- do alluvium._tell(adapter.clone(node.unique_id, to, point, message, dry_run), dry_run) -%}
{% endmacro %}
