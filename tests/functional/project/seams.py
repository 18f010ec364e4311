"""One project in which each flag and config of docs/seams.md meets what Alluvium adds."""

from __future__ import annotations

import yaml

SCHEMA = "seams"
TABLE = "{{ config(materialized='table') }} "
# By the first cell of a row of the page the tests of test_seams.py that run cells of it.
SEEN = {
    "`--empty`": "test_without_rows",
    "an ephemeral parent": "test_without_a_flag",
    "in an ephemeral model, a view": "test_without_a_flag",
    "in a snapshot": "test_without_a_flag test_without_rows",
    "in a unit test": "test_without_a_flag",
    "a pre-hook or `sql_header`": "test_without_a_flag",
    "`--sample`": "test_of_a_sample",
    "`event_time` in a microbatch": "test_in_windows",
    "`--defer`, `--favor-state`": "test_of_another_target",
    "versions: `ref('m', v=2)`": "test_versions_and_groups",
    "`access`, `group`": "test_versions_and_groups",
    "`--empty`, `--sample`": "test_without_rows test_of_a_sample",
    "`store_failures`, as a table or a view; `--store-failures`": "test_failures_that_are_stored",
    "`limit`, `where`, `fail_calc` of a test": "test_failures_that_are_stored",
    "`dbt retry`": "test_a_retry",
    "versions, `access: private`": "test_versions_and_groups",
    "a contract, constraints": "test_contracts",
    "`--no-partial-parse`": "test_failures_that_are_stored",
    "`severity`, `warn_if`, `error_if`, `--warn-error`": "test_which_tests_count",
    "`--fail-fast`": "test_which_tests_count",
    "`--exclude`, `--resource-type`, `--indirect-selection` without tests": (
        "test_which_tests_count"
    ),
    "custom generic tests, singular tests": "test_without_a_flag test_which_tests_count",
    "a test that reads `alluvium.at` of the candidate alone": "test_which_tests_count",
    "unit tests": "test_without_a_flag",
    "`persist_docs`": "test_without_a_flag",
    "a snapshot of it": "test_without_a_flag test_without_rows",
    "a snapshot as its candidate": "test_without_a_flag",
}


def _event(id: int, op: str, lsn: int, kind: str = "a", day: int = 1) -> str:
    at = f"2024-01-0{day}T00:00:00Z"
    return f'{{"id": {id}, "op": "{op}", "lsn": {lsn}, "kind": "{kind}", "at": "{at}"}}\n'


# Of item 3 there is a tombstone; item 4 goes, and item 2 changes, with the second file.
FIRST = "".join(
    [
        _event(1, "c", 1),
        _event(2, "c", 2, "b", 2),
        _event(3, "c", 3, "a", 3),
        '{"id": 3, "op": "d", "lsn": 4}\n',
        _event(4, "c", 5),
    ]
)
SECOND = _event(2, "u", 6, "c", 2) + '{"id": 4, "op": "d", "lsn": 7}\n'
THIRD = _event(5, "c", 8)

_MERGED = (
    "materialized='incremental', unique_key='id',"
    " meta={'alluvium_merge': {'order_by': 'lsn', 'delete_when': \"op = 'd'\"}}"
)
_BATCH = "select id, op, lsn, kind, at, _batch_through, _batch_after from {{ alluvium.new_events("


def batch(events: str, merged: str = "items_wap", config: str = "materialized='table'") -> str:
    """A model of the events that a merged one does not have."""
    return f"{{{{ config({config}) }}}} {_BATCH}{events}, '{merged}') }}}}"


# What reads all that a hook may change; `grown` is another table of each.
_HOOKED = (
    " select n.kind, n.row_count, p.id, b.v, l.id as live"
    " from {{ alluvium.count_by(ref('GROWN'), 'kind') }} as n"
    " join {{ alluvium.prune(ref('codes'), join=ref('GROWN')) }} as p on p.kind = n.kind"
    " join {{ alluvium.at(ref('codes'), version=0) }} as b on b.id = p.id"
    " left join {{ ref('items_wap') }} as l on l.id = p.id"
)
_GROWS = "insert into {{ ref('GROWN').render() }} values ('b')"

MODELS = {
    "landed/a.json": FIRST,
    "models/events.sql": "{{ config(persist_docs={'relation': true}) }}"
    " select * from {{ source('landing', 'feed') }}",
    "models/items_batch.sql": "{{ config(materialized='table', pre_hook='select 1') }} "
    + _BATCH
    + "ref('events'), 'items_wap') }}",
    "models/items_wap.sql": "{{ config(event_time='at',"
    " persist_docs={'relation': true, 'columns': true}, "
    + _MERGED
    + ") }} select * from {{ ref('items_batch') }}",
    "models/items.sql": """
        -- depends_on: {{ ref('wanted') }}
        {{ config(materialized='published') }} select * from {{ ref('items_wap') }}
    """,
    "models/codes.sql": "{{ config(materialized='table', event_time='at') }}"
    " select id, kind, {{ var('v', 1) }} as v, timestamp(at) as at from values"
    " (1, 'a', '2024-01-01'), (2, 'b', '2024-01-02'), (3, 'a', '2024-01-03') as c(id, kind, at)",
    "models/wanted.sql": TABLE + "select 'a' as kind",
    # Plain readers.
    "models/at_codes.sql": TABLE
    + "select id, v, at from {{ alluvium.at(ref('codes'), version=0) }} as before",
    "models/pruned.sql": TABLE
    + "select id from {{ alluvium.prune(ref('codes'), join=ref('wanted'), columns='kind') }} as p",
    "models/counted.sql": TABLE
    + "select * from {{ alluvium.count_by(ref('codes'), 'kind') }} as counted",
    "models/live.sql": TABLE + "select l.id from {{ ref('items_wap') }} as l",
    # Behind ephemeral models.
    "models/inner_items.sql": "{{ config(materialized='ephemeral') }}"
    " select * from {{ ref('items_wap') }}",
    "models/inner_events.sql": "{{ config(materialized='ephemeral') }}"
    " select * from {{ ref('events') }}",
    "models/inner_batch.sql": "{{ config(materialized='ephemeral') }} "
    + _BATCH
    + "ref('inner_events'), 'late_wap', bronze=ref('events')) }}",
    "models/late_wap.sql": "{{ config(" + _MERGED + ") }} select * from {{ ref('inner_batch') }}",
    "models/of_ephemeral.sql": TABLE + "select id from {{ ref('inner_items') }}",
    "models/pruned_ephemeral.sql": TABLE
    + "select id from {{ alluvium.prune(ref('inner_items'), join=ref('wanted'), columns='kind') }}",
    "models/counted_ephemeral.sql": TABLE
    + "select * from {{ alluvium.count_by(ref('inner_items'), 'kind') }} as counted",
    # In an ephemeral model and a view.
    "models/inner_at.sql": "{{ config(materialized='ephemeral') }}"
    " select id, v from {{ alluvium.at(ref('codes'), version=0) }} as b where kind in"
    " (select kind from {{ alluvium.prune(ref('codes'), join=ref('wanted')) }} as p) and kind in"
    " (select kind from {{ alluvium.count_by(ref('codes'), 'kind') }} as n)",
    "models/seen.sql": "{{ config(materialized='view') }} select a.* from {{ ref('inner_at') }} a"
    " join {{ ref('items_wap') }} as l on a.id = l.id join"
    " {{ alluvium.count_by(ref('codes'), 'id') }} as n on a.id = n.id",
    # Behind a hook, and behind a header, in which dbt takes each `ref` for the model itself.
    "models/hook_grown.sql": TABLE + "select 'a' as kind",
    "models/hooked.sql": "{{ config(materialized='table', pre_hook=\""
    + _GROWS.replace("GROWN", "hook_grown")
    + '") }}'
    + _HOOKED.replace("GROWN", "hook_grown"),
    "models/header_grown.sql": TABLE + "select 'a' as kind",
    "models/headed.sql": TABLE
    + "{% call set_sql_header(config) %}"
    + _GROWS.replace("{{ ref('GROWN').render() }}", "{{ target.schema }}.header_grown")
    + ";{% endcall %}"
    + _HOOKED.replace("GROWN", "header_grown"),
    # In windows: what is counted must be the window's.
    "models/daily.sql": """
        {{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at',
                  batch_size='day', begin='2024-01-01') }}
        select b.id, b.v, b.at,
          (select count(*) from {{ ref('items_wap') }} as l) as live,
          (select count(*) from {{ alluvium.prune(ref('codes'), {'kind': 'a'}) }} as p) as pruned,
          (select sum(row_count) from {{ alluvium.count_by(ref('codes'), 'kind') }} as n) as counted
        from {{ alluvium.at(ref('codes'), version=0) }} as b
    """,
    "models/own_version.sql": TABLE
    + "select * from {{ ref('items_wap') }} version as of {{ var('at', 0) }}",
    "models/own_plain.sql": TABLE + "select * from {{ ref('codes') }} version as of 0",
    "snapshots/past_wap.sql": "{% snapshot past_wap %} {{ config(unique_key='id', strategy='check',"
    " check_cols='all') }} select a.id, a.v, l.id as live from"
    " {{ alluvium.at(ref('codes'), version=0) }} as a"
    " left join {{ ref('items_wap') }} as l on a.id = l.id where a.kind in (select kind from"
    " {{ alluvium.prune(ref('codes'), join=ref('codes'), columns='id') }} as p) and 'a' in"
    " (select kind from {{ alluvium.count_by(ref('wanted'), 'kind') }} as n) {% endsnapshot %}",
    "models/past.sql": "{{ config(materialized='published') }} select * from {{ ref('past_wap') }}",
    "tests/generic/none_of.sql": """
        {% test none_of(model, kind) %}
        select n.* from {{ alluvium.count_by(model, 'kind') }} as n where n.kind = '{{ kind }}'
        {% endtest %}
    """,
    "tests/no_stranger.sql": """
        select p.* from {{ alluvium.prune(ref('items_wap'), join=ref('wanted')) }} as p
        where p.id > 99
    """,
    "snapshots/history.yml": """
snapshots:
  - name: history_of_items
    relation: ref('items')
    config: &history
      {unique_key: id, strategy: check, check_cols: [kind], hard_deletes: invalidate}
  - {name: history_of_items_wap, relation: ref('items_wap'), config: *history}
  - name: history_of_events
    relation: ref('events')
    config: {unique_key: lsn, strategy: check, check_cols: [kind]}
""",
    "models/s.yml": """
sources:
  - name: landing
    tables:
      - name: feed
        config:
          meta:
            alluvium_stream:
              format: json
              path: landed
              schema: id bigint, op string, lsn bigint, kind string, at timestamp
models:
  - name: events
    description: as they came
    config: {materialized: streaming_table}
    data_tests: [{none_of: {arguments: {kind: x}}}]
  - name: items_wap
    description: the newest of each
    columns: [{name: id, description: its key, data_tests: [unique, not_null]}]
    data_tests: [{none_of: {arguments: {kind: a}, config: {where: "kind <> 'a'"}}}]
  - name: items
    description: what readers see
    config: {persist_docs: {relation: true, columns: true}}
    columns: [{name: kind, description: of which kind}]
snapshots:
  - name: past_wap
    columns: [{name: id, data_tests: [not_null]}]
""",
    "models/u.yml": yaml.safe_dump(
        {
            "unit_tests": [
                {
                    "name": f"{model}_unit",
                    "model": model,
                    "given": [{"input": name, "rows": rows} for name, rows in {**given}.items()],
                    "expect": {"rows": [expected]},
                }
                for model, given, expected in (
                    (
                        "pruned",
                        {
                            "ref('codes')": [{"id": 7, "kind": "k"}, {"id": 8, "kind": "x"}],
                            "ref('wanted')": [{"kind": "k"}],
                        },
                        {"id": 7},
                    ),
                    (
                        "at_codes",
                        {"ref('codes')": [{"id": 7, "v": 8, "kind": "k"}]},
                        {"id": 7, "v": 8},
                    ),
                    (
                        "counted",
                        {"ref('codes')": [{"kind": "k"}, {"kind": "k"}]},
                        {"kind": "k", "row_count": 2},
                    ),
                    (
                        "items_batch",
                        {"ref('events')": [{"id": 5, "_batch_id": 9}]},
                        {"id": 5, "_batch_through": 9},
                    ),
                    ("items_wap", {"ref('items_batch')": [{"id": 5}]}, {"id": 5}),
                    ("live", {"ref('items_wap')": [{"id": 5}]}, {"id": 5}),
                    ("events", {"source('landing', 'feed')": [{"id": 5}]}, {"id": 5}),
                )
            ]
        }
    ),
}

_WINDOWS = (
    "materialized='incremental', incremental_strategy='microbatch', event_time='at',"
    " batch_size='day', begin='2024-01-01'"
)
_FIRST_EVENTS = "alluvium.at(ref('events'), version=1)"
# The streaming table's events have a time for dbt; and, too, what the source has.
TIMED = {
    "models/s.yml": MODELS["models/s.yml"].replace(
        "{materialized: streaming_table}", "{materialized: streaming_table, event_time: at}"
    ),
    "models/at_batch.sql": batch(_FIRST_EVENTS),
    "models/window_batch.sql": batch("ref('events')", config=_WINDOWS),
    "models/window_at_batch.sql": batch(_FIRST_EVENTS, config=_WINDOWS),
}
TIMED_FEED = TIMED["models/s.yml"].replace(
    "      - name: feed\n        config:\n",
    "      - name: feed\n        config:\n          event_time: at\n",
)
# A plain version and a merged one, for models of their group alone.
VERSIONED = {
    **{
        f"models/e_v{v}.sql": f"select *, {v} as v from {{{{ source('landing', 'feed') }}}}"
        for v in (1, 2)
    },
    "models/m_batch.sql": batch("ref('e', v=2)", "m.v2"),
    "models/m_v1.sql": TABLE + "select id, 1 as v from {{ ref('codes') }}",
    "models/m_v2.sql": "{{ config(" + _MERGED + ") }} select * from {{ ref('m_batch') }}",
    "models/m_shown.sql": "{{ config(materialized='published') }}"
    " select * from {{ ref('m', v=2) }}",
    "models/of_versions.sql": TABLE + "select c.id, c.v, if(l.id is null, 0, 1) as live"
    " from {{ alluvium.at(ref('m', v=1), version=0) }} as c"
    " left join {{ alluvium.prune(ref('m', v=2), {'kind': 'a'}) }} as l on l.id = c.id",
    "models/counted_versions.sql": TABLE
    + "select * from {{ alluvium.count_by(ref('m', v=2), 'kind') }} as counted",
    "models/m.yml": yaml.safe_dump(
        {
            "groups": [{"name": "g", "owner": {"name": "us"}}],
            "models": [
                {
                    "name": "e",
                    "latest_version": 1,
                    "config": {"materialized": "streaming_table"},
                    "versions": [{"v": 1}, {"v": 2}],
                },
                {
                    "name": "m",
                    "latest_version": 2,
                    "config": {"group": "g", "access": "private"},
                    "columns": [{"name": "id", "data_tests": ["unique"]}],
                    "versions": [{"v": 1}, {"v": 2}],
                },
                *(
                    {"name": name, "config": {"group": "g"}}
                    for name in ("m_shown", "of_versions", "counted_versions")
                ),
            ],
        }
    ),
}
