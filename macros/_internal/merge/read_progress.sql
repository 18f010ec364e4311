{#- The newest `_batch_through` that was merged into the table for this model; none for none.

    It counts for the table as it was last created. A table id stands beside each number, and every creation renews it.
    So a full refresh starts from nothing. Where the model has none, it goes on where another one was that the project no longer
    has: its unique id is another than before. table_id: where it is known already, by the merge itself, which says so. bronze: the table of events
    that goes on behind it; an alluvium target refuses another one than before that has other batches. -#}
{% macro _read_progress(relation, model_id, table_id=none, bronze=none) %}
  {%- if target.type == 'alluvium' -%}{{ return(adapter.merge_progress(relation.render(), model_id, bronze)) }}{%- endif -%}
  {%- set table = table_id or alluvium._table_detail(relation).id -%}
  {%- set former = {} -%}
  {#- The newest commits usually hold it; the whole history is a long read. A MERGE that failed may
      leave its metadata to the connection's next statement, so only that of a MERGE counts. -#}
  {%- for limit in (' limit 20', '') -%}
    {%- for row in run_query('describe history ' ~ relation.render() ~ limit).rows if row['operation'] == 'MERGE' and row['userMetadata'] -%}
      {%- set merged = alluvium._merge_metadata(row['userMetadata']) -%}
      {%- if merged.get('table') == table and merged.get('through') is not none -%}
        {%- if merged.get('model') == model_id -%}{{ return(merged.through | int) }}{%- endif -%}
        {%- do former.setdefault(merged.get('model'), merged.through | int) -%}
      {%- endif -%}
    {%- endfor -%}
  {%- endfor -%}
  {{ return(alluvium._former_progress(relation, model_id, former, table_id is not none)) }}
{% endmacro %}


{#- What a model takes over of one whose place it takes; on an alluvium target the adapter does that. former: the progress of other
    models in the table, by unique id. -#}
{% macro _former_progress(relation, model_id, former, tells) %}
  {%- if not former -%}{{ return(none) }}{%- endif -%}
  {%- set one = former | list | first -%}
  {%- if former | length > 1 or one in graph.nodes -%}
    {%- do exceptions.raise_compiler_error(relation.render() ~ ' has merged batches of ' ~ former | list | join(' and ') ~ ' and none of '
        ~ model_id ~ ', so it is not certain where that goes on. Accepted: a full refresh; or an alias of its own') -%}
  {%- endif -%}
  {%- if tells -%}{%- do log(model_id ~ ' goes on where ' ~ one ~ ' was: behind batch ' ~ former[one], info=true) -%}{%- endif -%}
  {{ return(former[one]) }}
{% endmacro %}


{% macro _merge_metadata(text) %}
  {%- set parsed = fromjson(text, {}) -%}
  {{ return((parsed.get('alluvium_merge') or {}) if parsed is mapping else {}) }}
{% endmacro %}
