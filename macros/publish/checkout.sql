{#- dbt run-operation alluvium.checkout --args '{model: flights, version: 41}'

    Lets readers of a published model see another version of its candidate, an older or a newer one, in one commit. It holds: builds
    leave it there, and say so, until a checkout with `hold: false`. `dry_run: true` only says what would be done. -#}
{% macro checkout(model=none, version=none, hold=true, dry_run=false) %}
  {%- set given = {'model': model, 'version': version, 'hold': hold, 'dry_run': dry_run} -%}
  {%- if not alluvium._begin_operation('checkout', given, kwargs, 'publishes nothing') -%}{{ return('') }}{%- endif -%}
  {%- set node = alluvium._find_published(model, 'alluvium.checkout') -%}
  {%- do alluvium._tell(adapter.checkout(node.unique_id, version, hold, dry_run), dry_run) -%}
{% endmacro %}
