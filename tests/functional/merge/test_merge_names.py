"""Names of feeds, of versions of one model, and of columns: capital letters, and anything else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from functional.merge.conftest import merged

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ORDERS = """
select o.*, _batch_after, _batch_through
from {{ alluvium.new_events(ref('Events'), 'orders') }}
lateral view inline(array(from_json(_value, 'id bigint, v bigint'))) o
"""
YML = """
models:
  - name: orders
    latest_version: 2
    versions: [{v: 1}, {v: 2, config: {schema: Marts}}]
sources:
  - name: landing
    tables:
      - name: Orders
        config:
          meta: {alluvium_stream: {format: json, path: landing, max_files_per_trigger: 1}}
"""
FILES = {
    "models/all.yml": YML,
    "models/Events.sql": "{{ config(materialized='streaming_table') }}"
    "select * from {{ source('landing', 'Orders') }}",
    "models/orders_v1.sql": merged({"order_by": "v"}, ORDERS),
    "models/orders_v2.sql": merged({"order_by": "v"}, ORDERS),
    "landing/1.json": '{"id": 1, "v": 1}\n',
}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    made = make_project("Shop", FILES)
    made.dbt("run")
    made.write({f"landing/{number}.json": f'{{"id": {number}, "v": 1}}\n' for number in (2, 3)})
    made.dbt("run", "--select", "Events", "orders.v2")
    return made


def ids(project: Any, table: str) -> list[int]:
    return list(project.sql(f"select id from {table} order by id")["id"])


def test_each_version_reads_every_event(project: Any) -> None:
    assert project.said("orders.v2: 2 events → ")
    assert ids(project, "shop.orders_v1") == [1]
    # What a bounded run leaves is on its line.
    bounded = FILES["models/orders_v1.sql"].replace("'orders')", "'orders', at_most=1)")
    project.write({"models/orders_v1.sql": bounded})
    project.dbt("run", "--select", "orders.v1")
    [line] = project.said("orders.v1: 1 event → ")
    assert ", 1 batch (1 event) of Events waits since 20" in line
    assert project.figures("orders.v1")["waiting_events"] == 1
    assert ids(project, "shop.orders_v1") == [1, 2]
    project.write({"models/orders_v1.sql": FILES["models/orders_v1.sql"]})
    project.dbt("run")
    assert project.said("orders.v1: 1 event → ")
    assert project.said("orders.v2: up to date")
    project.dbt("run", "--full-refresh", "--select", "orders.v1")
    for table in ("shop.orders_v1", "Shop_Marts.orders_v2"):
        assert ids(project, table) == [1, 2, 3]


def test_one_table_under_two_names_is_refused(project: Any) -> None:
    outside = (
        "{{ config(materialized='table', location_root='/away%s', alias='kept', schema='%s') }}"
        " select 2 as id"
    )
    files = {
        "models/more/events.sql": "select 2 as id",
        "models/more/orders_v1__rejected.sql": "select 2 as id",
        "models/more/first.sql": outside % ("", "one"),
        "models/more/second.sql": outside % ("/", "two"),
        "models/more/other.sql": outside % ("/else", "three"),
    }
    project.write(files)
    try:
        assert not project.try_dbt("run", "--select", "events").success
        assert project.said("model.Shop.Events, model.Shop.events: one table to Spark, shop.events")
        assert project.said(
            "model.Shop.orders.v1 (its rejected events), model.Shop.orders_v1__rejected: one table"
        )
        assert project.said("model.Shop.first, model.Shop.second: one folder to Spark, /away/kept;")
        assert not project.said("model.Shop.other")
    finally:
        for name in files:
            project.remove(name)


@pytest.mark.slow
def test_a_backfill_and_operations_of_one_version(project: Any) -> None:
    project.dbt("run")
    project.session.sql("delete from shop.orders_v1")
    project.session.sql("delete from shop_marts.orders_v2 where id = 1")
    window = {"alluvium_backfill": {"orders.v1": {"from_batch": 0}}}
    project.dbt("run", "--vars", json.dumps(window), "--select", "orders")
    assert ids(project, "shop.orders_v1") == [1, 2, 3]
    assert ids(project, "shop_marts.orders_v2") == [2, 3]
    project.write({"landing/4.json": '{"id": 4, "v": 1}\n'})
    project.dbt("run", "--select", "Events", "orders.v2")
    # It reads for the version that is explained.
    project.dbt("run-operation", "alluvium.explain_merge", "--args", "{model: Shop.orders.v1}")
    assert project.said("Shop.orders.v1: 1 event for 1 key")
    project.dbt("run-operation", "alluvium.explain_merge", "--args", "{model: orders.v2}")
    assert project.said("orders.v2: nothing new in the staged batch")
    result = project.try_dbt("run-operation", "alluvium.vacuum", "--args", "{model: orders}")
    assert not result.success
    assert project.said("accepted: orders.v1 (model.Shop.orders.v1), orders.v2 (model.Shop.ord")
    project.dbt("compile")
    project.dbt("run-operation", "alluvium.suggest_layout")
    assert project.said("orders.v1: ")
    assert project.said("orders.v2: ")


@pytest.mark.slow
def test_a_profile_in_another_case_is_the_same_schema(project: Any) -> None:
    project.dbt("run")
    before = {table: ids(project, table) for table in ("shop.orders_v1", "shop_marts.orders_v2")}
    state = project.root / "state"
    state.mkdir()
    (project.root / "target/manifest.json").rename(state / "manifest.json")
    profiles = project.root / "profiles.yml"
    given = profiles.read_text()
    profiles.write_text(given.replace("schema: Shop\n", "schema: sHOP\n"))
    try:
        # Else the clone would drop what it clones.
        project.dbt("clone", "--full-refresh", "--state", str(state), "--select", "orders")
        assert len(project.said("is the table of the state too: nothing to clone")) == 2
        project.dbt("run")
        assert project.said("Events: up to date")
    finally:
        profiles.write_text(given)
    for table, rows in before.items():
        assert ids(project, table) == rows


# Names of columns ----------------------------------------------------------------------------

# What Delta stores under any name; with column mapping also what these hold: ` ,;{}()\n\t=`.
STRANGE = (
    *("#laps", "a`b", "`t`", "a.b", "it's", 'say "x"', "[x]", "straße", "select", "x" * 200),
    *("a b", "a,b;c", "f(x)", "{y}=z", "# Partitioning"),
)
MAPPED = {"delta.columnMapping.mode": "name"}
KEY, ORDER, RANGE, TEXT = "order id", "#v", "was.at", "say 'x'"


def tick(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def strange(**config: Any) -> str:
    """A model that has a row in the first run, and in the second a newer one of its key."""
    given = {"materialized": "incremental", "tblproperties": MAPPED} | config
    columns = [f"'{{{{ var('n', 1) }}}}' as {tick(name)}" for name in STRANGE]
    return (
        "{{ config(" + ", ".join(f"{k}={v!r}" for k, v in given.items()) + ") }}\n"
        f"select 1 as {tick(KEY)}, 'k' as `İd`, {{{{ var('n', 1) }}}} as {tick(ORDER)}, "
        f"5 as {tick(RANGE)}, 'live' as {tick(TEXT)}, {', '.join(columns)}"
    )


def cased(value: str = "'a1'", **config: Any) -> str:
    given = {"materialized": "incremental", "unique_key": "UserCode", "tblproperties": MAPPED}
    one, other = ("UserCode", "Changed at"), ("usercode", "CHANGED AT")
    return (
        "{{ config(" + ", ".join(f"{k}={v!r}" for k, v in (given | config).items()) + ") }}\n"
        f"{{% set names = {one!r} if var('n', 1) == 1 else {other!r} %}}\n"
        f"select {value} as {{{{ names[0] }}}}, n as `{{{{ names[1] }}}}`"
        " from (select {{ var('n', 1) }} as n)"
    )


CASED_MERGE = {"meta": {"alluvium_merge": {"order_by": "`CHANGED at`"}}}
APPEND = {"incremental_strategy": "append", "unique_key": None}
CASED: dict[str, dict[str, Any]] = {
    "sync": {"on_schema_change": "sync_all_columns", **CASED_MERGE},
    "fail": {"on_schema_change": "fail", **CASED_MERGE},
    "contract": {
        "on_schema_change": "append_new_columns",
        "contract": {"enforced": True},
        **CASED_MERGE,
    },
    "plain": {"on_schema_change": "sync_all_columns", "incremental_strategy": "merge"},
    "append": {"on_schema_change": "append_new_columns", **APPEND},
}
PYTHON = """
def model(dbt, session):
    dbt.config(materialized="incremental", on_schema_change="sync_all_columns")
    again = session.catalog.tableExists(f"{dbt.this.schema}.{dbt.this.identifier}")
    return session.sql("select 2 as USERCODE" if again else "select 1 as UserCode")
"""
STRATEGY = {"incremental_strategy": "merge", "unique_key": [KEY, "`İd`"]}
MERGE = {
    "order_by": tick(ORDER),
    "delete_when": f"{tick(TEXT)} = 'gone'",
    "verify": True,
    "ranges": {"column": RANGE},
}
# Models of tables that fill columns themselves, which are there before the first run.
MADE = {
    "merged_sync": {"on_schema_change": "sync_all_columns", **CASED_MERGE},
    "merged": CASED_MERGE,
    "plain": {"on_schema_change": "sync_all_columns", "incremental_strategy": "merge"},
    "plain_ignore": {"incremental_strategy": "merge"},
    "append": {"on_schema_change": "fail", **APPEND},
    "overwrite": {"incremental_strategy": "insert_overwrite", "unique_key": None},
    "brought": CASED_MERGE,
}
MADE_TABLE = """
create table columns.made_{} (
    UserCode int, `Changed at` int, g int generated always as (UserCode + 10),
    I bigint generated always as identity, d int default 5
) using delta tblproperties (
    'delta.columnMapping.mode' = 'name', 'delta.feature.allowColumnDefaults' = 'supported'
)
"""


def made(name: str, **config: Any) -> str:
    given = {"materialized": "incremental", "unique_key": "UserCode", "tblproperties": MAPPED}
    return (
        "{{ config(" + ", ".join(f"{k}={v!r}" for k, v in (given | config).items()) + ") }}\n"
        "select explode(array(1, 2)) as UserCode, 7 as `Changed at`"
        + (", 9L as i" if name == "brought" else "")
    )


COLUMN_FILES = {
    "models/races.sql": strange(
        **STRATEGY,
        meta={"alluvium_merge": MERGE},
        persist_docs={"columns": True},
        partition_by=["part of"],
    )
    + ", 'p' as `part of`",
    "models/kept.sql": strange(
        **STRATEGY,
        meta={
            "alluvium_merge": {
                "order_by": ORDER,
                "ranges": {"column": ["`İd`", RANGE], "method": "auto"},
            },
            "alluvium_layout": {"sort_by": ["İd", RANGE]},
        },
        merge_exclude_columns=["a.b", "`#laps`"],
    ),
    "models/plain.sql": strange(**STRATEGY, merge_update_columns=["a.b", "`#laps`"]),
    "models/whole.sql": strange(incremental_strategy="insert_overwrite", partition_by=f"`{TEXT}`"),
    "models/log.sql": strange(incremental_strategy="append", on_schema_change="append_new_columns"),
    "models/unmapped.sql": strange(
        tblproperties={}, meta={"alluvium_merge": MERGE}, unique_key=KEY
    ),
    "models/tab.sql": strange(materialized="table"),
    "models/cased_tab.sql": cased(materialized="table", unique_key=None).replace(
        "n as `{{", "1 as `{{"
    ),
    "snapshots/snap.yml": yaml.safe_dump(
        {
            "snapshots": [
                {
                    "name": "snap",
                    "relation": "ref('tab')",
                    "config": {
                        "strategy": "check",
                        "unique_key": tick(KEY),
                        "check_cols": [tick("#laps"), tick("a`b"), tick("a.b")],
                        "tblproperties": MAPPED,
                    },
                },
                {
                    "name": "cased_snap",
                    "relation": "ref('cased_tab')",
                    "config": {
                        "strategy": "check",
                        "unique_key": "UserCode",
                        "check_cols": "all",
                        "hard_deletes": "new_record",
                        "tblproperties": MAPPED,
                    },
                },
            ]
        }
    ),
    # The first run has the names in one case, the second in another.
    **{f"models/cased_{name}.sql": cased(**config) for name, config in CASED.items()},
    "models/cased_python.py": PYTHON,
    **{f"models/made_{name}.sql": made(name, **config) for name, config in MADE.items()},
    "models/rejects.sql": cased(**CASED_MERGE, value="if(n = 2, null, 'a1')"),
    "models/columns.yml": yaml.safe_dump(
        {
            "models": [
                {
                    "name": "cased_contract",
                    "columns": [
                        {"name": "USERCODE", "data_type": "string"},
                        {"name": "Changed at", "data_type": "int"},
                    ],
                },
                {
                    "name": "races",
                    "data_tests": [
                        {"alluvium.unique_key": {"arguments": {"columns": [KEY, "İd"]}}}
                    ],
                    "columns": [
                        {"name": "#laps", "description": "laps"},
                        {"name": "`a b`", "description": "a and b"},
                        {
                            "name": RANGE,
                            "data_tests": [
                                {
                                    "alluvium.immutable_column": {
                                        "arguments": {"unique_key": tick(KEY)}
                                    }
                                }
                            ],
                        },
                    ],
                },
            ]
        }
    ),
}


@pytest.fixture(scope="module")
def columns(make_project: Callable[..., Any]) -> Any:
    project = make_project("columns", COLUMN_FILES)
    project.session.sql("create schema columns")
    for name in MADE:
        project.session.sql(MADE_TABLE.format(name))
        project.session.sql(
            f"insert into columns.made_{name} (UserCode, `Changed at`) values (1, 1)"
        )
    return project


def values(project: Any, table: str, *names: str) -> list[tuple[Any, ...]]:
    shown = ", ".join(tick(name) for name in names)
    rows = project.sql(f"select {shown} from {{s}}.{table} order by all")
    return [tuple(row) for row in rows.itertuples(index=False)]


def test_columns_of_any_name(columns: Any) -> None:
    wanted = [KEY, "İd", ORDER, RANGE, TEXT, *STRANGE]
    first = columns.try_dbt("build")
    wrong = {one.node.name: one.message for one in first.result if one.status == "error"}
    assert "Invalid column names: order id, say 'x', " in wrong.pop("unmapped")
    assert "the table numbers I itself" in wrong.pop("made_brought")
    assert not wrong
    columns.dbt("build", "--vars", "{n: 2}", "--exclude", "unmapped", "made_*")
    further = {"races": ["part of", "_deleted", "_tombstone_time"]}
    for table in ("races", "kept", "plain", "whole", "log", "tab"):
        found = columns.session.table(f"columns.{table}").columns
        assert found == wanted + further.get(table, []), table
    new = tuple("2" for _ in STRANGE)
    for table in ("races", "whole", "tab"):
        assert values(columns, table, ORDER, *STRANGE) == [(2, *new)], table
    old = [name for name in STRANGE if name not in ("a.b", "#laps")]
    assert values(columns, "kept", ORDER, "a.b", "#laps", *old) == [(2, "1", "1", *new[2:])]
    assert values(columns, "plain", ORDER, "a.b", "#laps", old[0]) == [(1, "2", "2", "1")]
    assert values(columns, "log", "#laps", "{y}=z") == [("1", "1"), ("2", "2")]
    assert len(values(columns, "snap", "#laps")) == 2
    comments = {
        f.name: f.metadata["comment"]
        for f in columns.session.table("columns.races").schema
        if "comment" in f.metadata
    }
    assert comments == {"#laps": "laps", "a b": "a and b"}
    # Names in two cases are one column, which has its first name.
    for name, config in CASED.items():
        names = ["USERCODE" if name == "contract" else "UserCode", "Changed at"]
        assert columns.session.table(f"columns.cased_{name}").columns == names, name
        rows = (
            [("a1", 1), ("a1", 2)]
            if config.get("incremental_strategy") == "append"
            else [("a1", 2)]
        )
        assert values(columns, f"cased_{name}", *names) == rows, name
    assert values(columns, "cased_python", "UserCode") == [(1,), (2,)]
    assert values(columns, "rejects", "UserCode", "Changed at") == [("a1", 1)]
    events = values(columns, "rejects__rejected", "event")
    assert events == [('{"CHANGED AT":2}',)]
    assert values(columns, "cased_snap", "UserCode", "dbt_is_deleted") == [("a1", "False")]
    # Columns that the table fills itself stay, and are filled.
    for name in MADE:
        names = ["UserCode", "Changed at", "g", "I", "d"]
        assert columns.session.table(f"columns.made_{name}").columns == names, name
        old, new = (1, 1, 11, 1, 5), [(1, 7, 11, 5), (2, 7, 12, 5)]
        rows = values(columns, f"made_{name}", *names)
        if name == "brought":
            assert rows == [old]
            continue
        if name == "append":
            assert rows.pop(0) == old
        elif name != "overwrite":
            assert rows[0][3] == 1, name
        assert len({row[3] for row in rows}) == 2, name
        assert [(*row[:3], row[4]) for row in rows] == new, name
