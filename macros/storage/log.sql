{#- dbt run-operation alluvium.log --args '{model: flights}'

    Prints the history of a model's table as `git log` shows one, the newest version first: HEAD, time, operation, batch,
    rows added and removed, who. `limit: 50`, `since: 2025-01-31` and `show: 42`, one version in full. Reads commits alone.

    In this package, and in the reference project, the name hides dbt's own `log`: with a text it is that one. -#}
{% macro log() %}
  {%- if varargs or 'msg' in kwargs -%}{{ return(builtins.log(*varargs, **kwargs)) }}{%- endif -%}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- set given = {} -%}
  {%- set unknown = dict(kwargs) -%}
  {%- for name in ('model', 'limit', 'since', 'show') -%}{%- do given.update({name: unknown.pop(name, none)}) -%}{%- endfor -%}
  {%- do alluvium._check_arguments('log', given, unknown) -%}
  {%- if target.type != 'alluvium' -%}
    {%- do exceptions.raise_compiler_error('alluvium.log: the target is of type ' ~ target.type
        ~ ', which does not read the logs of tables; accepted: alluvium.') -%}
  {%- endif -%}
  {%- set node = alluvium._find_model(given.model, 'alluvium.log') -%}
  {%- set relation = alluvium._existing_relation(node) -%}
  {%- if relation is none or relation.is_view -%}
    {%- do exceptions.raise_compiler_error("alluvium.log: '" ~ given.model ~ "' " ~ ('has no table yet' if relation is none else 'is a view')
        ~ '; accepted: a model whose Delta table was built.') -%}
  {%- endif -%}
  {%- set since = given.since | string if given.since is not none else none -%}
  {%- set published = {} -%}
  {%- for one in graph.nodes.values() if one.resource_type == 'model' and one.config.materialized == 'published' and node.unique_id in one.depends_on.nodes -%}
    {%- set shows = alluvium._existing_relation(one) -%}
    {%- if shows is not none -%}{%- do published.update({alluvium._name_of(one): shows.render()}) -%}{%- endif -%}
  {%- endfor -%}
  {%- for line in adapter.table_log(relation.render(), alluvium._name_of(node), given.limit, since, given.show, published) -%}
    {%- do builtins.log(line, info=true) -%}
  {%- endfor -%}
{% endmacro %}
