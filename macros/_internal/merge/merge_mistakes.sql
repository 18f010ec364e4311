{#- Raises with every reason why a model cannot be merged. -#}
{% macro _refuse_merge(node, mistakes) %}
  {%- if mistakes -%}
    {%- do exceptions.raise_compiler_error(node.name ~ ' cannot be merged:\n  - ' ~ mistakes | join('\n  - ')) -%}
  {%- endif -%}
{% endmacro %}


{#- Settings that name a column which is neither in the batch nor, if there is one, in the table. Columns are given by
    name in lower case. -#}
{% macro _unknown_columns(node, settings, selected, stored) %}
  {%- set mistakes = [] -%}
  {%- for setting, columns in alluvium._needed_columns(settings).items() -%}
    {%- for column in columns if column | lower not in selected -%}
      {%- do mistakes.append(setting ~ ': the model does not select ' ~ column ~ alluvium._did_you_mean(column, selected)) -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- if settings.reject_by is not none and settings.reject_by | lower not in selected -%}
    {%- do mistakes.append('reject_by: the model does not select ' ~ settings.reject_by ~ alluvium._did_you_mean(settings.reject_by, selected)) -%}
  {%- elif settings.reject_by is not none and settings.reject_by | lower in stored -%}
    {%- do mistakes.append('reject_by: the table stores ' ~ settings.reject_by ~ '; accepted: a column that it does not store') -%}
  {%- endif -%}
  {%- for where, types in {'the model': selected, 'the table': stored}.items() if settings.keep_by and types.get(settings.keep_by | lower, 'array<string>') != 'array<string>' -%}
    {%- do mistakes.append('keep_by: ' ~ settings.keep_by ~ ' is ' ~ types[settings.keep_by | lower] ~ ' in ' ~ where
        ~ '; accepted: array<string>, names of the columns that an event leaves out') -%}
  {%- endfor -%}
  {%- for setting in ('merge_update_columns', 'merge_exclude_columns') -%}
    {%- for column in alluvium._column_names(node.config.get(setting)) if column | lower not in selected and column | lower not in stored and column != '_deleted' -%}
      {%- do mistakes.append(setting ~ ': the model does not select ' ~ column ~ alluvium._did_you_mean(column, selected)) -%}
    {%- endfor -%}
  {%- endfor -%}
  {{ return(mistakes + alluvium._dropped_bounds(node, selected)) }}
{% endmacro %}


{#- The bounds of new events that a model does not pass on: no progress would be kept, and each run would merge all. -#}
{% macro _dropped_bounds(node, selected) %}
  {%- set dropped = ['_batch_after', '_batch_through'] | reject('in', selected) | list -%}
  {%- if not dropped or not alluvium._event_readers(node) -%}{{ return([]) }}{%- endif -%}
  {{ return(['alluvium.new_events: the model does not select ' ~ dropped | join(' and ')
      ~ '; the merge keeps its progress by them, and does not store them']) }}
{% endmacro %}


{#- Why a batch cannot begin where the table's progress ends: events lie between the two; none where there are none. -#}
{% macro _start_mistake(after, progress) %}
  {%- if after is none or after <= progress -%}{{ return(none) }}{%- endif -%}
  {{ return('the staged batch starts after event batch ' ~ after ~ ', but the table holds '
      ~ ('none yet' if progress < 0 else 'those up to ' ~ progress ~ ' only') ~ '. Run the model that stages the batch again, together with this one.') }}
{% endmacro %}


{#- Why a batch cannot be merged into its table as the settings say. table: what `_stored_table` says of it. -#}
{% macro _merge_mistakes(node, settings, source_types, types, table) %}
  {%- set mistakes = alluvium._unknown_columns(node, settings, source_types, types) -%}
  {%- for setting, columns in alluvium._needed_columns(settings).items() -%}
    {%- for column in columns if column | lower in source_types -%}
      {%- if column | lower not in types -%}
        {%- do mistakes.append(setting ~ ': the table has no column ' ~ column ~ '; set on_schema_change or rebuild it') -%}
      {%- endif -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- do mistakes.extend(alluvium._unstorable_keys(settings, types, source_types, table.padded)) -%}
  {%- for column in ('_deleted', '_tombstone_time') if settings.soft and column in source_types -%}
    {%- do mistakes.append('delete: soft keeps its own column ' ~ column ~ ', the model may not select one') -%}
  {%- endfor -%}
  {%- for one in alluvium._upstream_models(node) if invocation_args_dict.sample and '_batch_through' in source_types and one.config.get('event_time') -%}
    {%- do mistakes.append('--sample filters ' ~ alluvium._name_of(one) ~ ' by its event_time, and progress would pass over the events that'
        ~ ' it leaves out; accepted: without --sample, or ' ~ alluvium._name_of(one) ~ ' without event_time') -%}
  {%- endfor -%}
  {%- for column, always in table.made.items() if always and column | lower in source_types -%}
    {%- do mistakes.append('the table numbers ' ~ column ~ ' itself (generated always as identity), so the model may not select it') -%}
  {%- endfor -%}
  {%- if (node.config.get('on_schema_change') or 'ignore') == 'ignore' -%}
    {%- set missing = types | reject('in', source_types) | reject('in', ('_deleted', '_tombstone_time')) | list -%}
    {%- for column in missing if column not in table.made | map('lower') -%}
      {%- do mistakes.append('the model no longer selects ' ~ column ~ ', which the table has; set on_schema_change or rebuild it') -%}
    {%- endfor -%}
  {%- endif -%}
  {{ return(mistakes) }}
{% endmacro %}


{#- Mistakes where events can never find their rows. Maps compare with nothing, parts of a key may be stored otherwise,
    and MERGE fails on a table with a column of CHAR. padded: those columns of the table. -#}
{% macro _unstorable_keys(settings, types, source_types, padded=[]) %}
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
