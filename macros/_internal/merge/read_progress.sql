{#- The newest `_batch_through` that was merged into `target` for this model; none for none.

    It counts for the table as it was last created. A table id stands beside each number, and every creation renews it.
    So a full refresh starts from nothing. table_id: where it is known already. -#}
{% macro read_progress(target, model_id, table_id=none) %}
  {{ return(adapter.dispatch('read_progress', 'alluvium')(target, model_id, table_id)) }}
{% endmacro %}

{% macro alluvium__read_progress(target, model_id, table_id) %}
  {{ return(adapter.merge_progress(target.render(), model_id)) }}
{% endmacro %}

{% macro default__read_progress(target, model_id, table_id=none) %}
  {%- set table = table_id or alluvium._table_detail(target).id -%}
  {#- The newest commits usually hold it; the whole history is a long read. A MERGE that failed may
      leave its metadata to the connection's next statement, so only that of a MERGE counts. -#}
  {%- for limit in (' limit 20', '') -%}
    {%- for row in run_query('describe history ' ~ target.render() ~ limit).rows if row['operation'] == 'MERGE' and row['userMetadata'] -%}
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
