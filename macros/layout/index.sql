{#- Post-hook `alluvium.index(this)`, or an operation:
    dbt run-operation alluvium.index --args '{model: edits, dry_run: true}'

    Gives the files of a table that have no index one, so that queries read fewer of them: which values the columns of
    `meta.alluvium_layout` hold. The log alone is written. Compaction does it for what it writes. -#}
{% macro index(relation=none, model=none, dry_run=false) %}
  {%- if relation is not none -%}
    {%- do alluvium._check_arguments('index', {'model': model, 'dry_run': dry_run}, kwargs, is_hook=true) -%}
    {%- if alluvium._maintenance_is_on() -%}
      {%- do alluvium._require_alluvium('alluvium.index', 'keeps nothing in a log') -%}
      {%- set block = alluvium._layout_of_hook('index', relation) -%}
      {%- set line = adapter.index_files(relation.render(), relation.identifier, block, dry_run) -%}
      {%- if line -%}{%- do alluvium._tell(line, dry_run) -%}{%- endif -%}
    {%- endif -%}
    {{ return('') }}
  {%- endif -%}
  {%- set given = {'model': model, 'dry_run': dry_run} -%}
  {%- if not alluvium._begin_operation('index', given, kwargs, 'keeps nothing in a log') -%}{{ return('') }}{%- endif -%}
  {%- for node in alluvium._models_with_layout(model, none, 'alluvium.index') -%}
    {%- set name = alluvium._name_of(node) -%}
    {%- set table = alluvium._built_relation(node, name) -%}
    {%- if table is not none -%}
      {%- set line = adapter.index_files(table.render(), name, node.config.meta.alluvium_layout, dry_run) -%}
      {%- do alluvium._tell(line or name ~ ': every file has its index', dry_run) -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}
