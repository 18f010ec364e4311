{#- dbt run-operation alluvium.discard --args '{name: fix, dry_run: false}'

    Drops the tables that `alluvium.branch` made under this name, what models built there, and its schemas. What else is there stays, and
    is named. -#}
{% macro discard(name=none, dry_run=true) %}
  {%- set given = {'name': name, 'dry_run': dry_run} -%}
  {%- if not alluvium._begin_operation('discard', given, kwargs, 'makes no branches') -%}{{ return('') }}{%- endif -%}
  {%- for line in adapter.discard(name, dry_run) -%}{%- do alluvium._tell(line, dry_run) -%}{%- endfor -%}
{% endmacro %}
