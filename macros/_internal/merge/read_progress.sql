{#- The newest `_batch_through` that was merged into the table for this model; none for none.

    It counts for the table as it was last created. A table id stands beside each number, and every creation renews it.
    So a full refresh starts from nothing. table_id: where it is known already. -#}
{% macro _read_progress(relation, model_id, table_id=none) %}
  {%- if target.type == 'alluvium' -%}{{ return(adapter.merge_progress(relation.render(), model_id)) }}{%- endif -%}
  {%- set table = table_id or alluvium._table_detail(relation).id -%}
  {#- The newest commits usually hold it; the whole history is a long read. A MERGE that failed may
      leave its metadata to the connection's next statement, so only that of a MERGE counts. -#}
  {%- for limit in (' limit 20', '') -%}
    {%- for row in run_query('describe history ' ~ relation.render() ~ limit).rows if row['operation'] == 'MERGE' and row['userMetadata'] -%}
      {%- set merged = alluvium._merge_metadata(row['userMetadata']) -%}
      {%- if merged.get('model') == model_id and merged.get('table') == table and merged.get('through') is not none -%}
        {{ return(merged.through | int) }}
      {%- endif -%}
    {%- endfor -%}
  {%- endfor -%}
  {{ return(none) }}
{% endmacro %}


{% macro _merge_metadata(text) %}
  {%- set parsed = fromjson(text, {}) -%}
  {{ return((parsed.get('alluvium_merge') or {}) if parsed is mapping else {}) }}
{% endmacro %}
