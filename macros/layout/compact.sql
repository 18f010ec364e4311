{#- Post-hook `alluvium.compact(this)`, or an operation:
    dbt run-operation alluvium.compact --args '{model: edits, dry_run: true}'
    dbt run-operation alluvium.compact --args '{tier: hourly}'

    Merges and relabels fragments until they lie as `meta.alluvium_layout` says; most runs decide from the log that
    nothing is to be done. -#}
{% macro compact(relation=none, model=none, tier=none, dry_run=false) %}
  {%- do alluvium._check_arguments('compact', {'model': model, 'tier': tier, 'dry_run': dry_run}, kwargs) -%}
  {%- if relation is not none -%}
    {#- In SQL, to look is to open every file: not for a merge that changed nothing. -#}
    {%- if (alluvium._maintenance_is_on() if target.type == 'alluvium' else alluvium._files_may_have_changed()) -%}
      {%- set block = alluvium._layout_of_hook('compact', relation) -%}
      {%- set failed = alluvium._compact_table(relation, relation.identifier, block) -%}
      {%- if failed -%}{%- do exceptions.raise_database_error(failed) -%}{%- endif -%}
    {%- endif -%}
    {{ return('') }}
  {%- endif -%}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- do alluvium.validate() -%}
  {%- set failed = [] -%}
  {%- for node in alluvium._models_with_layout(model, tier) -%}
    {%- set table = alluvium._built_relation(node, alluvium._name_of(node)) -%}
    {%- if table is not none -%}
      {#- One table that fails must not stop the others of its tier. -#}
      {%- do failed.append(alluvium._compact_table(table, alluvium._name_of(node), node.config.meta.alluvium_layout, dry_run, is_hook=false)) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- set failed = failed | select | join('\n') -%}
  {%- if failed -%}{%- do exceptions.raise_database_error(failed) -%}{%- endif -%}
{% endmacro %}
