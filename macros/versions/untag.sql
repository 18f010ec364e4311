{#- dbt run-operation alluvium.untag --args '{model: flights, name: before_fix}'

    Takes a tag of a model's table away. The files that it alone needed are deleted by the next `alluvium.vacuum`. -#}
{% macro untag(model=none, name=none, dry_run=false) %}
  {%- set node = alluvium._model_of('untag', {'model': model, 'name': name, 'dry_run': dry_run}, kwargs, 'makes no tags and clones') -%}
  {%- if not node -%}{{ return('') }}{%- endif -%}
  {%- do alluvium._tell(adapter.untag(node.unique_id, name, dry_run), dry_run) -%}
{% endmacro %}
