{#- dbt run-operation alluvium.commits --args '{model: flights}'

    Prints the history of a model's table as `git log` shows one, the newest version first: HEAD, time, operation, batch,
    rows added and removed, who. `limit: 50`, `since: 2025-01-31` and `show: 42`, one version in full. Reads commits alone. -#}
{% macro commits(model=none, limit=none, since=none, show=none) %}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- set given = {'model': model, 'limit': limit, 'since': since, 'show': show} -%}
  {%- do alluvium._check_arguments('commits', given, kwargs) -%}
  {%- do alluvium._require_alluvium('alluvium.commits', 'does not read the logs of tables') -%}
  {%- set node = alluvium._find_model(model, 'alluvium.commits') -%}
  {%- set relation = alluvium._existing_relation(node) -%}
  {%- if relation is none or relation.is_view -%}
    {%- do exceptions.raise_compiler_error("alluvium.commits: '" ~ model ~ "' " ~ ('has no table yet' if relation is none else 'is a view')
        ~ '; accepted: a model whose Delta table was built.') -%}
  {%- endif -%}
  {%- set published = {} -%}
  {%- for one in alluvium._shown_by(node.unique_id) -%}
    {%- set shows = alluvium._existing_relation(one) -%}
    {%- if shows is not none -%}{%- do published.update({alluvium._name_of(one): shows.render()}) -%}{%- endif -%}
  {%- endfor -%}
  {%- do alluvium._say(adapter.table_log(relation.render(), alluvium._name_of(node), limit, since and since | string, show, published)) -%}
{% endmacro %}
