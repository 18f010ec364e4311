{#- VACUUM of a table. An alluvium target leaves alone what other tables need of it, and deletes here: '' is left to run. Elsewhere it is the
    statement. The paths that would be deleted in a dry run. -#}
{% macro _vacuum(relation, dry_run=false) %}
  {%- if target.type == 'alluvium' -%}
    {%- set paths = adapter.vacuum(relation, dry_run) -%}
    {{ return(paths if dry_run else '') }}
  {%- endif -%}
  {%- set statement = 'vacuum ' ~ relation.render() -%}
  {{ return(run_query(statement ~ ' dry run').columns[0].values() if dry_run else statement) }}
{% endmacro %}
