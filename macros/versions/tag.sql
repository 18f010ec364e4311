{#- dbt run-operation alluvium.tag --args '{model: flights, name: before_fix, version: 41, message: before the fix of 4 May}'

    Gives a version of a model's table a name, by which it is there until `alluvium.untag`. `version`, `timestamp`,
    `tag` or `batch` says which, the newest by default. Copies no file. -#}
{% macro tag(model=none, name=none, version=none, timestamp=none, tag=none, batch=none, message=none, dry_run=false) %}
  {%- set point = {'version': version, 'timestamp': timestamp, 'tag': tag, 'batch': batch} -%}
  {%- set given = dict(point, model=model, name=name, message=message, dry_run=dry_run) -%}
  {%- set node = alluvium._model_of('tag', given, kwargs, 'makes no tags and clones') -%}
  {%- if not node -%}{{ return('') }}{%- endif -%}
  {%- do alluvium._tell(adapter.tag(node.unique_id, name, point, message, dry_run), dry_run) -%}
{% endmacro %}
