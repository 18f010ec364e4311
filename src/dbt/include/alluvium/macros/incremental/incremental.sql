{#- dbt-spark's incremental materialization, and the merge of `meta.alluvium_merge` beside it. A Python
    model is only accepted from a materialization's own `statement`, so nothing is delegated. -#}
{% materialization incremental, adapter='alluvium', supported_languages=['sql', 'python'] -%}
  {%- set file_format = dbt_spark_validate_get_file_format(config.get('file_format', default='delta')) -%}
  {%- set merged = 'alluvium_merge' in (config.get('meta') or {}) -%}
  {%- set default_strategy = 'merge' if merged else 'append' -%}
  {#- dbt's own answer to a strategy that nobody knows. -#}
  {%- do adapter.get_incremental_strategy_macro(context, config.get('incremental_strategy') or default_strategy) -%}
  {%- set strategy = dbt_spark_validate_get_incremental_strategy(
      config.get('incremental_strategy') or default_strategy, file_format) -%}
  {%- set unique_key = config.get('unique_key', none) -%}
  {%- set language = model['language'] -%}
  {%- set on_schema_change = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') -%}
  {%- set predicates = config.get('predicates', none) or config.get('incremental_predicates', none) -%}
  {%- set existing_relation = load_relation(this) -%}
  {%- set rebuild = existing_relation is none or existing_relation.is_view or should_full_refresh() -%}
  {#- A microbatch overwrites its window of event time. Other formats can replace partitions only. -#}
  {%- set windowed = strategy == 'microbatch' and file_format == 'delta' -%}
  {%- if windowed and predicates -%}
    {%- do exceptions.raise_compiler_error(model.name ~ ": incremental_predicates is " ~ predicates
        ~ "; a microbatch overwrites its window of event_time, all of it. Accepted: without") -%}
  {%- endif -%}
  {#- Batches that run at once each have their own. -#}
  {%- set tmp_suffix = '__dbt_tmp' ~ ('_' ~ model.batch.id if windowed and model.batch else '') -%}
  {%- set tmp_relation = this.incorporate(path={'identifier': this.identifier ~ tmp_suffix}) -%}
  {%- if language == 'sql' -%}
    {%- set tmp_relation = tmp_relation.include(database=false, schema=false) -%}
  {%- endif -%}

  {%- if file_format == 'delta' and not rebuild -%}
    {%- do adapter.check_delta(existing_relation) -%}
  {%- endif -%}

  {%- set layout = alluvium_layout() -%}
  {%- if layout is not none and not rebuild -%}
    {%- do adapter.check_bucket_column(this.render(), model.name, layout, config.get('partition_by')) -%}
  {%- endif -%}

  {%- if strategy in ('insert_overwrite', 'microbatch') and config.get('partition_by') and not windowed -%}
    {%- call statement() -%}
      set spark.sql.sources.partitionOverwriteMode = DYNAMIC
    {%- endcall -%}
  {%- endif -%}

  {{ run_hooks(pre_hooks) }}

  {%- if rebuild and existing_relation is not none
         and not (file_format == 'delta' and existing_relation.is_delta and not existing_relation.is_view) -%}
    {%- do adapter.drop_relation(existing_relation) -%}
  {%- endif -%}

  {%- if rebuild and not merged and not windowed -%}
    {%- if language == 'sql' -%}
      {%- do adapter.check_named_columns(model, strategy, compiled_code) -%}
    {%- endif -%}
    {%- call statement('main', language=language) -%}
      {{ create_table_as(False, this, compiled_code, language) }}
    {%- endcall -%}
    {%- do persist_constraints(this, model) -%}

  {%- else -%}
    {%- if language == 'sql' and config.get('sql_header') -%}
      {#- dbt-spark's temporary view leaves it out. -#}
      {%- do run_query(config.get('sql_header')) -%}
    {%- endif -%}
    {%- if layout is not none and language == 'sql' and not rebuild -%}
      {%- do adapter.check_layout(compiled_code, model.name, layout, config.get('partition_by'), this.render(),
                                  more_columns=on_schema_change != 'ignore') -%}
    {%- endif -%}
    {%- call statement('create_tmp_relation', language=language) -%}
      {{ create_table_as(True, tmp_relation, compiled_code, language) }}
    {%- endcall -%}

    {#- dbt-spark compares only the first build with the contract. -#}
    {%- if config.get('contract').enforced and not rebuild -%}
      {%- do get_assert_columns_equivalent(alluvium._empty_merge_table(model, tmp_relation) if merged else 'select * from ' ~ tmp_relation) -%}
    {%- endif -%}
    {%- if layout is not none and language == 'python' and not rebuild -%}
      {%- do adapter.check_layout('select * from ' ~ tmp_relation, model.name, layout, config.get('partition_by'), this.render(),
                                  more_columns=on_schema_change != 'ignore') -%}
    {%- elif layout is not none and windowed and rebuild -%}
      {%- do adapter.check_layout('select * from ' ~ tmp_relation, model.name, layout, config.get('partition_by')) -%}
    {%- endif -%}

    {%- if not merged and language == 'sql' -%}
      {%- do adapter.check_named_columns(model, strategy, 'select * from ' ~ tmp_relation, none if rebuild else existing_relation) -%}
    {%- endif -%}

    {#- Our merge leaves to Delta what a table computes, as the column of its buckets, and sorts what it writes itself. -#}
    {%- if merged -%}
      {%- do alluvium_merge_batch(tmp_relation, existing_relation, rebuild, layout, on_schema_change, predicates) -%}
    {%- elif windowed and rebuild -%}
      {%- set window = adapter.batch_window(tmp_relation.render(), none, model) -%}
      {%- set done = adapter.write_window(window, this.render(), tmp_relation.render(), model,
                                          create=alluvium_create_table_sql(this, window.guarded(tmp_relation.render()))) -%}
      {{ write(done.sql) }}
      {%- do store_result('main', response=done.response) -%}
      {%- do persist_constraints(this, model) -%}
    {%- else -%}
      {%- set source = tmp_relation -%}
      {%- if file_format == 'delta' -%}
        {%- set batch = adapter.batch_query(
            tmp_relation.render(), this.render(), model.name, layout, config.get('partition_by'),
            in_order=language == 'sql' and strategy != 'merge', replaces=strategy == 'insert_overwrite') -%}
        {%- if batch is not none -%}
          {%- set source = tmp_relation.incorporate(path={'identifier': tmp_relation.identifier ~ '_batch'}).include(database=false, schema=false) -%}
          {%- call statement('create_batch') -%}
            {{ create_temporary_view(source, batch) }}
          {%- endcall -%}
        {%- endif -%}
      {%- endif -%}
      {%- do process_schema_changes(on_schema_change, source, existing_relation) -%}
      {#- INSERT takes as many fields for the same, whatever their names. Delta's MERGE goes by these. -#}
      {%- if file_format == 'delta' and strategy != 'merge' -%}
        {%- set source = adapter.with_fields(source, this.render(), on_schema_change, inserts=true) -%}
      {%- endif -%}
      {%- if windowed -%}
        {%- set done = adapter.write_window(adapter.batch_window(source.render(), this.render(), model), this.render(),
                                            source.render(), model, fills=on_schema_change != 'ignore') -%}
        {{ write(done.sql) }}
        {%- do store_result('main', response=done.response) -%}
      {%- else -%}
        {%- call statement('main') -%}
          {{ alluvium_incremental_sql(strategy, source, this, existing_relation, unique_key, predicates) }}
        {%- endcall -%}
      {%- endif -%}
    {%- endif -%}

    {%- if language == 'python' -%}
      {%- call statement('drop_tmp_relation') -%}
        drop table if exists {{ tmp_relation }}
      {%- endcall -%}
    {%- endif -%}
  {%- endif -%}

  {%- set should_revoke = should_revoke(existing_relation, full_refresh_mode=should_full_refresh()) -%}
  {%- do apply_grants(this, config.get('grants'), should_revoke) -%}
  {%- do persist_docs(this, model) -%}

  {{ run_hooks(post_hooks) }}
  {%- if rebuild -%}{%- do alluvium_tell_of_index(post_hooks) -%}{%- endif -%}

  {{ return({'relations': [this]}) }}
{%- endmaterialization %}
