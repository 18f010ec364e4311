{#- dbt run-operation alluvium.diff --args '{model: flights, from: 41, to: {tag: accepted}, limit: 20}'
    dbt run-operation alluvium.diff --args '{model: flights_wap, to: {branch: fix}}'

    Prints what differs between two versions of a model's table, as `git diff` does. It says how many rows were added,
    removed and changed by the model's unique_key, the columns that changed, and the first rows. Without a key rows are
    added and removed. Files that both versions share are not read. -#}
{% macro diff(model=none, to=none, limit=20) %}
  {#- `from` is a word of Jinja's. -#}
  {%- set unknown = dict(kwargs) -%}
  {%- set before = unknown.pop('from', none) -%}
  {%- set given = {'model': model, 'from': before, 'to': to, 'limit': limit} -%}
  {%- set node = alluvium._model_of('diff', given, unknown, 'does not read the logs of tables') -%}
  {%- if not node -%}{{ return('') }}{%- endif -%}
  {%- if before is none and not (to is mapping and to.branch) -%}
    {%- do exceptions.raise_compiler_error('alluvium.diff: from is missing; accepted: a version, or {tag: x}, {timestamp: 2024-01-31}, {batch: 17} or'
        ~ ' {branch: x}. With to: {branch: x} it may be left out.') -%}
  {%- endif -%}
  {%- do alluvium._say(adapter.diff(node.unique_id, before, to, limit)) -%}
{% endmacro %}
