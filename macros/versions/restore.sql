{#- dbt run-operation alluvium.restore --args '{model: flights, before_batch: 17, including: [backfill], skip: true, dry_run: true}'

    Undoes a bad batch and what came after it. Rows, columns and progress of the model's table go back in one commit.
    Readers of a published model see it at once. The next build reads the events again, but for those of the batch where
    `skip` is true, or of its `files` alone. `version: 41` goes back to a version. `batch: 17` with `skip` undoes
    nothing, and only says whether its events are left out. -#}
{% macro restore(model=none, version=none, before_batch=none, batch=none, including=[], skip=none, files=none, dry_run=false) %}
  {%- set given = {'model': model, 'version': version, 'before_batch': before_batch, 'batch': batch, 'including': including, 'skip': skip,
                   'files': files or [], 'dry_run': dry_run} -%}
  {%- set node = alluvium._model_of('restore', given, kwargs, 'keeps the progress of merges in their history alone') -%}
  {%- if not node -%}{{ return('') }}{%- endif -%}
  {%- if [version, before_batch, batch] | reject('none') | list | length != 1 -%}
    {%- do exceptions.raise_compiler_error('alluvium.restore: accepted: one of version, before_batch and batch') -%}
  {%- elif version is not none and skip is not none -%}
    {%- do exceptions.raise_compiler_error('alluvium.restore: skip is of a batch, and version names none; accepted: skip with before_batch or batch') -%}
  {%- elif batch is not none and (skip is none or including) -%}
    {%- do exceptions.raise_compiler_error('alluvium.restore: batch undoes nothing; accepted: batch with skip, or before_batch') -%}
  {%- elif files is not none and not files -%}
    {%- do exceptions.raise_compiler_error('alluvium.restore: files is empty; accepted: names as in `_source_partition`, or no files, for a whole batch') -%}
  {%- elif files and skip is none -%}
    {%- do exceptions.raise_compiler_error('alluvium.restore: files needs skip; accepted: files with skip') -%}
  {%- endif -%}
  {%- for line in adapter.restore(node.unique_id, version, before_batch, batch, including, skip, given.files, dry_run) -%}
    {%- do alluvium._tell(line, dry_run and loop.first) -%}
  {%- endfor -%}
{% endmacro %}
