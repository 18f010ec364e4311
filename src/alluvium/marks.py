"""What this package leaves in the logs of tables beside rows: each name once, and who reads it.

Tables that earlier versions wrote have these names. Under another one a table loses its progress,
its order or the figures of its merges.
"""

from __future__ import annotations

# Application ids of `txn` actions. Delta keeps the newest number of each.

# Before `<model>/<id of the table>`: the newest batch that is merged, -1 for none any more, -2 for
# one that another model took over. Read by `merge.progress`, `plan.versions.heirs`, the search for
# lost tables, and on stock targets by nobody.
MERGED_THROUGH = "alluvium/"
# Before a model: a number of the name of the table whose batches these are. Read by the verb that
# stages a batch, and by `plan.versions.heirs`; `merge.progress` carries it to clones.
READ_FROM = "alluvium/from/"
# Before the checkpoint's id: the newest epoch that is appended. Read by `delta.log.epochs` and
# `ingest.intake`.
STREAM_EPOCH = "alluvium/stream/"
# The number of the newest cuts of a Z-order; before a colon and their text, the action that keeps
# them. Read by `delta.rewrite.table_files` and `delta.log.backoffs`; `merge.progress` carries
# them to clones.
ZORDER_CUTS = "alluvium.zorder"
# Before a colon and a hash of layout and table: how long nothing is due. Read by
# `delta.log.backoffs`.
BACKOFF = "alluvium.pause"
# The newest version of a table whose build is noted, by `REUSE_NOTE`. Read by nobody: a commit
# without any action may be left out.
REUSE = "alluvium.reuse"
# Before the id of a candidate's table: the version of it that a published table shows, -1 where it
# shows another table. Read by `plan.versions.heads`, `delta.rewrite.table_files` and
# `plan.versions.batches`.
PUBLISHED = "alluvium/published/"
# 1 where a published table stays at the version that a person chose, 0 where publishes move it.
# Read by `plan.versions.heads`.
HOLD = "alluvium/hold"
# Before the id of a table and what built it: the first version that `--empty` or `--sample` made of
# a part of its rows. Read by `delta.log.partial`.
PARTIAL = "alluvium/partial/"
# Before the id of a table: the version of it that a table of a branch began as. Read by
# `delta.refs.refs`.
BRANCH = "alluvium/branch/"
# Before the id that a branch's table began with, and that of this table: the newest version of it
# that was merged into this one. Read by `delta.refs.merge_bases`.
BRANCH_MERGED = "alluvium/merged/"

# Before `<model>/<batch>`: 1 where the batch's events are left out for good, 0 where they are not.
# Of a part of them the name goes on with `/<_source_partition>`.
# It names no table id, so that a full refresh and a clone heed it too. Read by
# `plan.versions.left_out` and `plan.versions.heirs`.
SKIPPED = "alluvium/skip/"

# Tags of data files.

# JSON: how a fragment is sorted, and what that cost. Read by `delta.rewrite.table_files`; its text
# by `plan.compaction.tags`.
LAYOUT_TAG = "alluvium.layout"
# JSON, of a file of a published table: `vector`, the source's deletion vector of it; `own`, what
# hides tombstones beside. `label` is of the source's tags and statistics. Read by
# `delta.published.published_files`.
PUBLISHED_TAG = "alluvium.published"
# JSON: by physical name of a column, which values the file may hold. Read by
# `engine/Automata.java`; its text by `plan.automata.tags`.
AUTOMATA_TAG = "alluvium.automata"

# Keys of a commit's `userMetadata`, which is a JSON object.

# A merge's figures. Read by the macro `read_progress` on stock targets: there are no `txn` actions
# of ours there.
MERGE_FIGURES = "alluvium_merge"
# A list of the figures of each merge of a compaction. Read by `compact.history`.
COMPACTION_FIGURES = "alluvium_compaction"
# A streaming table's batch. Read by `plan.versions.arrivals` and `ingest.target`.
STREAM_NOTE = "alluvium_stream"
# What was published: the candidate, its version, who looked at it. Read by
# `plan.versions.batches` and `delta.published.published_files`.
PUBLISH_NOTE = "alluvium_published"
# Of the first commit of a tag, a clone or a branch: its kind and name, message, author, and its
# table and version. Read by `delta.refs.refs`.
REF_NOTE = "alluvium_ref"
# Of a restore of ours: the version that it went back to, and what it left out. Read by
# `versions.restore`.
RESTORE_NOTE = "alluvium_restored"
# Of a delete of what must not come back: the operation. Read by `versions.restore`.
PURGE_NOTE = "alluvium_purge"
# What the build of a table hung on, and the version that it made: the one before the commit. Read
# by `plan.reuse`.
REUSE_NOTE = "alluvium_reuse"
# A merge of a branch: its name, and how many rows came of it. Read by people, in the log.
BRANCH_MERGE = "alluvium_branch_merge"
