{#- A view of what the commits of all managed and published tables did that `this` does not keep. It is all of it where
    that is built new. Nothing under --empty. -#}
{% macro _unseen_actions() %}
  {%- if not alluvium._reads_logs('alluvium_actions') -%}{{ return(alluvium._quote('__alluvium_actions')) }}{%- endif -%}
  {%- set nodes = alluvium._managed_models(published=true) -%}
  {{ return(adapter.unseen_actions(alluvium._tables_of(nodes), this.render() if is_incremental() and not flags.EMPTY else none)) }}
{% endmacro %}


{#- A view of what the commits of one table did, with what the model `alluvium_actions` keeps of it. -#}
{% macro _actions_of(relation, who, version=none) %}
  {%- if not alluvium._reads_logs(who) -%}{{ return(alluvium._quote('__alluvium_actions')) }}{%- endif -%}
  {%- if relation is string or relation is not mapping and relation.identifier is not defined -%}
    {%- do exceptions.raise_compiler_error(who ~ ': ' ~ alluvium._shown_value(relation) ~ " is not a relation; accepted: a relation, for example ref('flights')") -%}
  {%- endif -%}
  {%- set kept = graph.nodes.get('model.alluvium.alluvium_actions') -%}
  {%- set kept = alluvium._existing_relation(kept) if kept else none -%}
  {{ return(adapter.table_actions(relation.render(), relation.identifier, kept.render() if kept else none, version, who)) }}
{% endmacro %}


{#- A row for each commit, of rows as `alluvium_actions` has them. -#}
{% macro _snapshot_rows(actions) -%}
select
  model,
  table_name,
  version,
  commit.snapshot_id,
  commit.previous_snapshot_id,
  version = max(version) over (partition by table_name) as is_head,
  commit.committed_at,
  commit.operation,
  commit.message,
  commit.author,
  commit.feed,
  commit.batch,
  commit.segments,
  commit.blocks,
  if(commit.uncounted = 0, commit.row_count, null) as row_count,
  commit.bytes,
  if(commit.unsized = 0, commit.bytes_uncompressed, null) as bytes_uncompressed,
  commit.blocks_added,
  commit.blocks_removed,
  commit.rows_added,
  commit.rows_removed,
  commit.bytes_added,
  commit.bytes_removed
from {{ actions }}
where commit is not null
{%- endmacro %}


{#- A row for each commit some of whose blocks are live after a version; after the newest without one. -#}
{% macro _segment_rows(actions, version=none) -%}
select
  live.model,
  live.table_name,
  live.segment,
  commits.snapshot_id,
  commits.committed_at,
  commits.operation,
  commits.feed,
  commits.batch,
  live.blocks,
  live.row_count,
  live.deleted_rows,
  live.bytes,
  live.bytes_uncompressed
from (
  select
    model,
    table_name,
    block.segment,
    sum(block.blocks) as blocks,
    {{ alluvium._known_sum('row_count') }},
    sum(block.deleted_rows) as deleted_rows,
    sum(block.bytes) as bytes,
    {{ alluvium._known_sum('bytes_uncompressed') }}
  from {{ actions }}
  where block is not null{{ ' and version <= ' ~ version if version is not none }}
  group by model, table_name, block.segment
  having sum(block.blocks) > 0
) as live
left join (
  select table_name, version, commit.* from {{ actions }} where commit is not null
) as commits on commits.table_name = live.table_name and commits.version = live.segment
{%- endmacro %}


{#- A row for each block that is live after a version; after the newest without one. -#}
{% macro _block_rows(actions, version=none) -%}
select
  model,
  table_name,
  path,
  segment,
  row_count,
  deleted_rows,
  bytes,
  bytes_uncompressed,
  footer.compression,
  footer.row_groups,
  footer.columns
from (
  select
    model,
    table_name,
    block.path,
    max_by(block.segment, version) as segment,
    {{ alluvium._known_sum('row_count') }},
    sum(block.deleted_rows) as deleted_rows,
    sum(block.bytes) as bytes,
    {{ alluvium._known_sum('bytes_uncompressed') }},
    any_value(block.footer, true) as footer
  from {{ actions }}
  where block is not null{{ ' and version <= ' ~ version if version is not none }}
  group by model, table_name, block.path
  having sum(block.blocks) > 0
) as live
{%- endmacro %}


{#- A sum over blocks; null where it is not known of one that is live. -#}
{% macro _known_sum(name) -%}
if(sum(if(block.{{ name }} is null, block.blocks, 0)) = 0, sum(block.{{ name }}), null) as {{ name }}
{%- endmacro %}
