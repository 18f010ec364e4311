{#- dbt run-operation alluvium.drop_old_buckets --args '{model: logs, dry_run: false}'

    Drops the buckets of a model whose time was over `retain` ago: whole partitions, by a DELETE that opens no file. A partition
    whose value stands for no moment, or that is NULL, is kept. -#}
{% macro drop_old_buckets(model=none, dry_run=true) %}
  {%- set node = alluvium._model_of('drop_old_buckets', {'model': model, 'dry_run': dry_run}, kwargs) -%}
  {%- if not node -%}{{ return('') }}{%- endif -%}
  {%- set block = (node.config.get('meta') or {}).get('alluvium_layout') or {} -%}
  {%- if not block.get('retain') -%}
    {%- do exceptions.raise_compiler_error("alluvium.drop_old_buckets: '" ~ model
        ~ "' is not a model with retain in meta.alluvium_layout; accepted: one with bucket_by and retain, for example 30 days" ~ alluvium._whose_rows(node) ~ '.') -%}
  {%- endif -%}
  {%- if target.type == 'spark' and node.config.materialized == 'streaming_table' -%}
    {%- do exceptions.raise_compiler_error('alluvium.drop_old_buckets: ' ~ model ~ ' knows the files that it has read by its rows:'
        ~ ' on this target the next run would read those of dropped buckets again; accepted: alluvium and databricks targets.') -%}
  {%- endif -%}
  {%- set relation = alluvium._built_relation(node, model) -%}
  {%- if relation is none -%}{{ return('') }}{%- endif -%}
  {%- set layout = alluvium._layout_settings(block) -%}
  {%- set bucket = alluvium._bucket_column(relation, layout) -%}

  {%- set old = [] -%}
  {%- for row in run_query(alluvium._old_buckets(relation, layout, bucket)).rows
         if row['bucket'] is not none and alluvium._in_buckets(bucket, [row['bucket']]) -%}
    {%- do old.append({'bucket': row['bucket'], 'files': row['files'] | int, 'bytes': row['bytes'] | int, 'rows': row['rows'] | int}) -%}
  {%- endfor -%}
  {%- set said = alluvium._counted(old | length, 'bucket') ~ ' over for ' ~ layout.retain
      ~ (': ' ~ alluvium._bucket_size(old | sum(attribute='files'), old | sum(attribute='bytes'), old | sum(attribute='rows')) if old else '') -%}
  {%- if dry_run -%}
    {%- do log(model ~ ': would drop ' ~ said ~ ' (dry run; dry_run: false drops them)', info=true) -%}
    {%- for one in old[:20] -%}
      {%- do log('  ' ~ alluvium._canonical_text(one.bucket, bucket.type) ~ ': ' ~ alluvium._bucket_size(one.files, one.bytes, one.rows), info=true) -%}
    {%- endfor -%}
    {%- if old | length > 20 -%}{%- do log('  … ' ~ alluvium._thousands(old | length - 20) ~ ' more', info=true) -%}{%- endif -%}
  {%- else -%}
    {%- if old -%}
      {%- do alluvium._purge(relation.render(), alluvium._in_buckets(bucket, old | map(attribute='bucket') | list)) -%}
    {%- endif -%}
    {%- do log(model ~ ': dropped ' ~ said, info=true) -%}
  {%- endif -%}
{% endmacro %}
