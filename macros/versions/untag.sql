{#- dbt run-operation alluvium.untag --args '{model: flights, name: before_fix}'

    Takes a tag of a model's table away. The files that it alone needed are deleted by the next `alluvium.vacuum`. -#}
{% macro untag(model=none, name=none, dry_run=false) %}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- set node = alluvium._node_of_version('untag', {'model': model, 'name': name, 'dry_run': dry_run}, kwargs) -%}
  {%- do alluvium._tell(adapter.untag(node.unique_id, name, dry_run), dry_run) -%}
{% endmacro %}
