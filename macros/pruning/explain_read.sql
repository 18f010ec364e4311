{#- dbt run-operation alluvium.explain_read --args '{model: edits, where: "service = ''reader''"}'

    Prints how many files and bytes of a model's table a condition leaves to read. It does so by time and other
    partitions, by bounds, by automata, and for each part of it. Reads none of them. -#}
{% macro explain_read(model=none, where=none) %}
  {%- set node = alluvium._model_of('explain_read', {'model': model, 'where': where}, kwargs, 'does not read the logs of tables') -%}
  {%- if not node -%}{{ return('') }}{%- endif -%}
  {%- do alluvium._say(adapter.explain_read(node.unique_id, where)) -%}
{% endmacro %}
