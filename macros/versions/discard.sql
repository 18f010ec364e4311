{#- dbt run-operation alluvium.discard --args '{name: fix}'

    Drops the tables that `alluvium.branch` made under this name, what models built there, and its schemas. What else is there stays, and
    is named. -#}
{% macro discard(name=none, dry_run=false) %}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- do alluvium._begin_operation('discard', {'name': name, 'dry_run': dry_run}, kwargs, 'makes no branches') -%}
  {%- for line in adapter.discard(name, dry_run) -%}{%- do alluvium._tell(line, dry_run) -%}{%- endfor -%}
{% endmacro %}
