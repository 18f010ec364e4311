{#- Types of a relation's columns by their names in lower case: upper and lower case are one to Spark. -#}
{% macro column_types(relation) %}
  {{ return(alluvium.types_of(adapter.get_columns_in_relation(relation))) }}
{% endmacro %}


{% macro types_of(columns) %}
  {%- set types = {} -%}
  {%- for column in columns -%}{%- do types.update({column.name | lower: column.dtype}) -%}{%- endfor -%}
  {{ return(types) }}
{% endmacro %}


{#- Names of a batch's columns as they are written: SQL does not find every one by its lower case.
    without: names, in lower case, of columns that only steer its merge. -#}
{% macro event_columns(columns, without=('_batch_through', '_batch_after')) %}
  {%- set names = [] -%}
  {%- for column in columns if column.name | lower not in without -%}
    {%- do names.append(column.name) -%}
  {%- endfor -%}
  {{ return(names) }}
{% endmacro %}


{#- Columns of a batch that are not stored, in lower case. -#}
{% macro control_columns(settings) %}
  {{ return(['_batch_through', '_batch_after'] + ([settings.reject_by | lower] if settings.reject_by is not none else [])) }}
{% endmacro %}


{#- Columns that the settings name, by the setting. -#}
{% macro needed_columns(settings) %}
  {{ return({'unique_key': settings.unique_key, 'order_by': settings.order_by,
             'ranges.column': settings.ranges.columns if settings.ranges else []}) }}
{% endmacro %}


{% macro refuse_merge(node, mistakes) %}
  {%- if mistakes -%}
    {%- do exceptions.raise_compiler_error(node.name ~ ' cannot be merged:\n  - ' ~ mistakes | join('\n  - ')) -%}
  {%- endif -%}
{% endmacro %}


{#- Settings that name a column which is not there, of the batch's columns and of the table's, if there is one: each by its name in
    lower case. -#}
{% macro unknown_columns(node, settings, selected, stored) %}
  {%- set mistakes = [] -%}
  {%- for setting, columns in alluvium.needed_columns(settings).items() -%}
    {%- for column in columns if column | lower not in selected -%}
      {%- do mistakes.append(setting ~ ': the model does not select ' ~ column ~ alluvium.did_you_mean(column, selected)) -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- if settings.reject_by is not none and settings.reject_by | lower not in selected -%}
    {%- do mistakes.append('reject_by: the model does not select ' ~ settings.reject_by ~ alluvium.did_you_mean(settings.reject_by, selected)) -%}
  {%- elif settings.reject_by is not none and settings.reject_by | lower in stored -%}
    {%- do mistakes.append('reject_by: the table stores ' ~ settings.reject_by ~ '; accepted: a column that it does not store') -%}
  {%- endif -%}
  {%- for setting in ('merge_update_columns', 'merge_exclude_columns') -%}
    {%- for column in alluvium.column_names(node.config.get(setting)) if column | lower not in selected and column | lower not in stored and column != '_deleted' -%}
      {%- do mistakes.append(setting ~ ': the model does not select ' ~ column ~ alluvium.did_you_mean(column, selected)) -%}
    {%- endfor -%}
  {%- endfor -%}
  {{ return(mistakes) }}
{% endmacro %}


{#- Raises where the settings of a merged model do not fit its batch, before its table is made or changed for it: the plan of
    the merge, which looks for the same and more, comes after that.

    table: the one that is to change; none where it is yet to be made. -#}
{% macro check_settings_of_batch(node, source, table=none) %}
  {%- set settings = alluvium.merge_settings(node) -%}
  {%- set selected = alluvium.column_types(source) -%}
  {%- set mistakes = alluvium.unknown_columns(node, settings, selected, alluvium.column_types(table) if table is not none else {}) -%}
  {%- if table is none -%}
    {%- set bucket_by = ((node.config.get('meta') or {}).get('alluvium_layout') or {}).get('bucket_by') -%}
    {%- set made = modules.re.sub('[^A-Za-z0-9_]', '_', alluvium.bare(bucket_by.column)) ~ '_' ~ bucket_by.window if bucket_by else none -%}
    {%- for column in alluvium.column_names(node.config.get('partition_by')) if column | lower not in selected and column | lower != made | lower -%}
      {%- do mistakes.append('partition_by: the model does not select ' ~ column ~ alluvium.did_you_mean(column, selected)) -%}
    {%- endfor -%}
  {%- endif -%}
  {%- do mistakes.extend(alluvium.unstorable_keys(settings, selected, selected, alluvium.padded_in_new_table(node, selected) if table is none else [])) -%}
  {%- do mistakes.extend(alluvium.delete_mistakes(settings, source)) -%}
  {%- if table is none -%}{%- do mistakes.extend(alluvium.predicate_mistakes(node, source)) -%}{%- endif -%}
  {%- do alluvium.refuse_merge(node, mistakes) -%}
  {#- A rebuild empties the table before it merges: by then it is too late to find that the batch is not whole. -#}
  {%- if table is none and '_batch_after' in selected and alluvium.batch_models(node) -%}
    {%- set mistake = alluvium.start_mistake(run_query('select max(`_batch_after`) from ' ~ source).rows[0][0], -1) -%}
    {%- if mistake -%}{%- do exceptions.raise_compiler_error(node.name ~ ': ' ~ mistake) -%}{%- endif -%}
  {%- endif -%}
{% endmacro %}


{#- Why a batch cannot begin where the table's progress ends: events lie between the two; none where there are none. -#}
{% macro start_mistake(after, progress) %}
  {%- if after is none or after <= progress -%}{{ return(none) }}{%- endif -%}
  {{ return('the staged batch starts after event batch ' ~ after ~ ', but the table holds '
      ~ ('none yet' if progress < 0 else 'those up to ' ~ progress ~ ' only') ~ '. Run the model that stages the batch again, together with this one.') }}
{% endmacro %}


{#- Why a batch cannot be merged into its table as the settings say. table: what `stored_table` says of it. -#}
{% macro merge_mistakes(node, settings, source_types, types, table) %}
  {%- set mistakes = alluvium.unknown_columns(node, settings, source_types, types) -%}
  {%- for setting, columns in alluvium.needed_columns(settings).items() -%}
    {%- for column in columns if column | lower in source_types -%}
      {%- if column | lower not in types -%}
        {%- do mistakes.append(setting ~ ': the table has no column ' ~ column ~ '; set on_schema_change or rebuild it') -%}
      {%- endif -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- do mistakes.extend(alluvium.unstorable_keys(settings, types, source_types, table.padded)) -%}
  {%- if settings.soft and '_deleted' in source_types -%}
    {%- do mistakes.append('delete: soft keeps its own column _deleted, the model may not select one') -%}
  {%- endif -%}
  {%- for column, always in table.made.items() if always and column | lower in source_types -%}
    {%- do mistakes.append('the table numbers ' ~ column ~ ' itself (generated always as identity), so the model may not select it') -%}
  {%- endfor -%}
  {%- if (node.config.get('on_schema_change') or 'ignore') == 'ignore' -%}
    {%- set missing = types | reject('in', source_types) | reject('eq', '_deleted') | list -%}
    {%- for column in missing if column not in table.made | map('lower') -%}
      {%- do mistakes.append('the model no longer selects ' ~ column ~ ', which the table has; set on_schema_change or rebuild it') -%}
    {%- endfor -%}
  {%- endif -%}
  {{ return(mistakes) }}
{% endmacro %}


{#- What is wrong with the SQL of the settings. Elsewhere Spark says it, once the SQL runs. -#}
{% macro delete_mistakes(settings, source) %}
  {%- if settings.delete_when is none or target.type != 'alluvium' -%}{{ return([]) }}{%- endif -%}
  {{ return(adapter.condition_mistakes('delete_when', settings.delete_when, source.render())) }}
{% endmacro %}

{% macro predicate_mistakes(node, source) %}
  {%- if target.type != 'alluvium' -%}{{ return([]) }}{%- endif -%}
  {{ return(adapter.predicate_mistakes(node.config.get('predicates') or node.config.get('incremental_predicates'), source.render(), none)) }}
{% endmacro %}


{#- Mistakes where events can never find their rows: maps compare with nothing, parts of a key may be stored otherwise, and MERGE fails
    on a table with a column of CHAR.
    padded: those columns of the table. -#}
{% macro unstorable_keys(settings, types, source_types, padded=[]) %}
  {%- set mistakes = [] -%}
  {%- for key in settings.unique_key if modules.re.search('map<|variant', types.get(key | lower, '') ~ source_types.get(key | lower, '')) -%}
    {%- do mistakes.append('unique_key: ' ~ key ~ ' is ' ~ types.get(key | lower, source_types.get(key | lower))
        ~ ', which compares with nothing; accepted: a type that has an order') -%}
  {%- endfor -%}
  {%- for key in settings.unique_key -%}
    {%- set stored = types.get(key | lower, '') -%}
    {%- set given = source_types.get(key | lower, stored) -%}
    {#- Whole numbers compare as they are. Of the rest Spark may compare what the table never stores: a time with its date. -#}
    {%- if '<' in stored and modules.re.sub('tinyint|smallint|bigint', 'int', stored | lower) != modules.re.sub('tinyint|smallint|bigint', 'int', given | lower) -%}
      {%- do mistakes.append('unique_key: ' ~ key ~ ' is ' ~ given ~ ' in the batch and ' ~ stored
          ~ ' in the table, so its events might not find their rows; accepted: the type of the table') -%}
    {%- endif -%}
  {%- endfor -%}
  {%- for column in padded -%}
    {%- do mistakes.append('the table has the column ' ~ column ~ ', and MERGE knows no CHAR; accepted: STRING or VARCHAR') -%}
  {%- endfor -%}
  {{ return(mistakes) }}
{% endmacro %}


{#- Columns of CHAR that a new table would get from the model's contract or its batch, each with its type. -#}
{% macro padded_in_new_table(node, selected) %}
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
{% macro check_removed_columns(node, remove_columns) %}
  {%- set removed = remove_columns | map(attribute='name') | map('lower') | list -%}
  {%- set mistakes = [] -%}
  {%- for setting, columns in alluvium.needed_columns(alluvium.merge_settings(node)).items() -%}
    {%- for column in columns if column | lower in removed -%}
      {%- do mistakes.append(setting ~ ': the model does not select ' ~ column) -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- do alluvium.refuse_merge(node, mistakes) -%}
{% endmacro %}
