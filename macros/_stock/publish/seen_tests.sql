{#- Which version of a candidate its tests read, on a stock target. The adapter there says nothing to its tests, so each test that begins
    notes the newest version. No test read an older one, and a publish looks what was written since. -#}

{#- What this invocation saw: `tests` that began, and by candidate the `states` that they began at. dbt makes the graph for each invocation,
    and all threads have the same one. -#}
{% macro _audit_ledger() %}
  {{ return(graph.setdefault('alluvium_audit', {}).setdefault(invocation_id, {'tests': {}, 'states': {}})) }}
{% endmacro %}


{#- Notes for each candidate that this data test reads what it is now. -#}
{% macro _note_test() %}
  {%- if model.resource_type != 'test' or flags.WHICH not in ('build', 'retry') -%}{{ return('') }}{%- endif -%}
  {%- set ledger = alluvium._audit_ledger() -%}
  {%- for id in model.depends_on.nodes if id in graph.nodes and id not in ledger.states and alluvium._shown_by(id) -%}
    {%- set relation = alluvium._existing_relation(graph.nodes[id]) -%}
    {#- Without a table the test tells it. -#}
    {%- if relation is not none and (target.type == 'databricks' or graph.nodes[id].config.file_format == 'delta') -%}
      {%- do ledger.states.setdefault(id, []).append(alluvium._table_state(relation)) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- do ledger.tests.update({model.unique_id: true}) -%}
{% endmacro %}


{#- The table's `id`, and its newest `version`. -#}
{% macro _table_state(relation) %}
  {%- set id = alluvium._table_detail(relation).id -%}
  {{ return({'id': id, 'version': run_query('describe history ' ~ relation.render() ~ ' limit 1').rows[0]['version'] | int}) }}
{% endmacro %}


{#- dbt asks for this before a test reads anything: what stores its failures reads long before it counts them. -#}
{% macro spark__get_limit_sql(sql, limit) %}
  {%- do alluvium._note_test() -%}
  {{ return(dbt.default__get_limit_sql(sql, limit)) }}
{% endmacro %}


{#- dbt looks through a package for Spark's macro before it comes to the adapter's own. -#}
{% macro alluvium__get_limit_sql(sql, limit) %}
  {{ return(adapter.limited(sql, limit)) }}
{% endmacro %}
