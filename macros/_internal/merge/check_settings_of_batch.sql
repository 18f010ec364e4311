{#- Raises where the settings of a merged model do not fit its batch. That is before its table is made or changed for
    it. The plan of the merge comes after that; it looks for the same and more.

    table: the one that is to change; none where it is yet to be made. -#}
{% macro _check_settings_of_batch(node, source, table=none) %}
  {%- set settings = alluvium._merge_settings(node) -%}
  {%- set selected = alluvium._column_types(source) -%}
  {%- set mistakes = alluvium._unknown_columns(node, settings, selected, alluvium._column_types(table) if table is not none else {}) -%}
  {%- if table is none -%}
    {%- set bucket_by = ((node.config.get('meta') or {}).get('alluvium_layout') or {}).get('bucket_by') -%}
    {%- set made = alluvium._generated_column_name(bucket_by.column, bucket_by.window) if bucket_by else none -%}
    {%- for column in alluvium._column_names(node.config.get('partition_by')) if column | lower not in selected and column | lower != made | lower -%}
      {%- do mistakes.append('partition_by: the model does not select ' ~ column ~ alluvium._did_you_mean(column, selected)) -%}
    {%- endfor -%}
  {%- endif -%}
  {%- do mistakes.extend(alluvium._unstorable_keys(settings, selected, selected, alluvium._padded_in_new_table(node, selected) if table is none else [])) -%}
  {#- What is wrong with the SQL of the settings. Elsewhere Spark says it, once the SQL runs. -#}
  {%- if target.type == 'alluvium' and settings.delete_when is not none -%}
    {%- do mistakes.extend(adapter.condition_mistakes('delete_when', settings.delete_when, source.render())) -%}
  {%- endif -%}
  {%- if target.type == 'alluvium' and table is none -%}
    {%- set predicates = node.config.get('predicates') or node.config.get('incremental_predicates') -%}
    {%- do mistakes.extend(adapter.predicate_mistakes(predicates, source.render(), none)) -%}
  {%- endif -%}
  {%- do alluvium._refuse_merge(node, mistakes) -%}
  {#- A rebuild empties the table before it looks at the events. -#}
  {%- if table is none and settings.keep_by -%}
    {%- set events = '(select * from ' ~ source ~ ' where ' ~ alluvium._quote_name(settings.reject_by) ~ ' is null)' if settings.reject_by else source -%}
    {%- set events = alluvium._events_by_key(events, settings.unique_key, whole=true) if settings.null_keys == 'reject' else events -%}
    {%- set lacked = run_query(alluvium._lacked_columns_sql(events, settings, selected.keys() | list)).rows[0][0] -%}
    {%- set outline = {'settings': settings, 'source_types': selected, 'types': {}, 'stored': []} -%}
    {%- do alluvium._refuse_merge(node, alluvium._kept_columns(outline, fromjson(lacked)).mistakes) -%}
  {%- endif -%}
  {#- A rebuild empties the table before it merges: by then it is too late to find that the batch is not whole. -#}
  {%- if table is none and '_batch_after' in selected and alluvium._batch_models(node) -%}
    {%- set mistake = alluvium._start_mistake(run_query('select max(`_batch_after`) from ' ~ source).rows[0][0], -1) -%}
    {%- if mistake -%}{%- do exceptions.raise_compiler_error(node.name ~ ': ' ~ mistake) -%}{%- endif -%}
  {%- endif -%}
{% endmacro %}


{#- Columns of CHAR that a new table would get from the model's contract or its batch, each with its type. -#}
{% macro _padded_in_new_table(node, selected) %}
  {%- set types = dict(selected) -%}
  {%- if (node.config.get('contract') or {}).get('enforced') -%}
    {%- set types = {} -%}
    {%- for column in node.columns.values() -%}{%- do types.update({column.name: column.data_type or ''}) -%}{%- endfor -%}
  {%- endif -%}
  {%- set padded = [] -%}
  {%- for name, type in types.items() if modules.re.match('\\s*char(acter)?\\b', type, modules.re.IGNORECASE) -%}
    {%- do padded.append(name ~ ' ' ~ type) -%}
  {%- endfor -%}
  {{ return(padded) }}
{% endmacro %}


{#- Raises where a merged table would lose a column that its settings name: that cannot be undone. -#}
{% macro _check_removed_columns(node, remove_columns) %}
  {%- set removed = remove_columns | map(attribute='name') | map('lower') | list -%}
  {%- set mistakes = [] -%}
  {%- for setting, columns in alluvium._needed_columns(alluvium._merge_settings(node)).items() -%}
    {%- for column in columns if column | lower in removed -%}
      {%- do mistakes.append(setting ~ ': the model does not select ' ~ column) -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- do alluvium._refuse_merge(node, mistakes) -%}
{% endmacro %}
