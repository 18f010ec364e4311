{#- dbt run-operation alluvium.adopt --args '{model: flights, dry_run: false}'

    Makes the table of an incremental model the candidate `<model>_wap` of a published model. It renames the table and
    that of its rejected events. It lets the new model go on where the old one was, and says what to change in the
    project. It only says so unless `dry_run: false`.

    former: the unique id of a model that merged into the model's table, where this one is to go on. Then nothing is renamed. -#}
{% macro adopt(model=none, former=none, dry_run=true) %}
  {%- set node = alluvium._model_of('adopt', {'model': model, 'former': former, 'dry_run': dry_run}, kwargs, 'publishes nothing') -%}
  {%- if not node -%}{{ return('') }}{%- endif -%}
  {%- for line in adapter.adopt(node.unique_id, former, dry_run) -%}{%- do alluvium._tell(line, dry_run and loop.first) -%}{%- endfor -%}
{% endmacro %}
