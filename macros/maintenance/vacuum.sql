{#- Post-hook `alluvium.vacuum(this)`, or an operation:
    dbt run-operation alluvium.vacuum --args '{model: logs, dry_run: false}'

    VACUUM of the model's table, by the table's own retention. What published models, tags, clones and branches need of it stays. -#}
{% macro vacuum(relation=none, model=none, dry_run=true) %}
  {%- do alluvium._check_arguments('vacuum', {'model': model, 'dry_run': dry_run}, kwargs, is_hook=relation is not none) -%}
  {%- if relation is not none -%}
    {{ return(alluvium._vacuum(relation, is_hook=true) if alluvium._files_may_have_changed() else '') }}
  {%- endif -%}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- do alluvium.validate() -%}
  {%- set node = alluvium._find_model(model, 'alluvium.vacuum') -%}
  {%- set table = alluvium._built_relation(node, model) -%}
  {%- if table is none -%}{{ return('') }}{%- endif -%}
  {%- if dry_run -%}
    {%- set paths = alluvium._vacuum(table, dry_run=true) -%}
    {#- Delta lists a thousand at most. -#}
    {%- set at_least = 'at least ' if paths | length >= 1000 and target.type != 'alluvium' else '' -%}
    {%- do log(model ~ ': would delete ' ~ at_least ~ alluvium._counted(paths | length, 'file')
        ~ ' that no version within the retention needs (dry run; dry_run: false deletes them)', info=true) -%}
    {%- for path in paths[:20] -%}{%- do log('  ' ~ path, info=true) -%}{%- endfor -%}
    {%- if paths | length > 20 -%}{%- do log('  … ' ~ alluvium._thousands(paths | length - 20) ~ ' more', info=true) -%}{%- endif -%}
  {%- else -%}
    {%- set paths = alluvium._vacuum(table) -%}
    {%- set number = '' if paths is none else ', ' ~ alluvium._counted(paths | length, 'file') ~ ' deleted' -%}
    {%- do log(model ~ ': vacuumed' ~ number, info=true) -%}
  {%- endif -%}
{% endmacro %}
