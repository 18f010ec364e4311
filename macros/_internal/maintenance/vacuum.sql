{#- VACUUM of a table; the paths of what was deleted, or would be. An alluvium target leaves alone what other tables need of it. Elsewhere Delta
    does not tell what it deleted: none. A hook gets what is left to run: '' or, elsewhere, the statement. -#}
{% macro _vacuum(relation, dry_run=false, is_hook=false) %}
  {%- if target.type == 'alluvium' -%}
    {%- set paths = adapter.vacuum(relation, dry_run) -%}
    {{ return('' if is_hook else paths) }}
  {%- endif -%}
  {%- set statement = 'vacuum ' ~ relation.render() -%}
  {%- if is_hook -%}{{ return(statement) }}{%- endif -%}
  {%- set found = run_query(statement ~ (' dry run' if dry_run else '')) -%}
  {{ return(found.columns[0].values() if dry_run else none) }}
{% endmacro %}
