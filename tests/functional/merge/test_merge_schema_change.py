"""on_schema_change beside ranges: the columns that dbt promises, and rows found by every method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from functional.merge.conftest import merged

pytestmark = pytest.mark.spark

# (on_schema_change, method, engine) of a model each.
CASES = [
    ("ignore", "gaps", "auto"),
    ("ignore", "cover", "merge_into"),
    ("append_new_columns", "min_max", "auto"),
    ("append_new_columns", "gaps", "merge_into"),
    ("append_new_columns", "kmeans", "auto"),
    ("append_new_columns", "cover", "auto"),
    ("append_new_columns", "auto", "auto"),
    ("sync_all_columns", "gaps", "auto"),
    ("sync_all_columns", "kmeans", "merge_into"),
    ("sync_all_columns", "cover", "auto"),
]
# Every mode, and both engines; `cover` beside a mode is `failing` below.
QUICK = [
    ("ignore", "gaps", "auto"),
    ("append_new_columns", "min_max", "auto"),
    ("sync_all_columns", "kmeans", "merge_into"),
]
TABLE = "id bigint, op string, lsn bigint, at timestamp, v string, _deleted boolean"
GENERATED = TABLE + ", day date generated always as (cast(at as date))"
PROPERTIES = (
    "tblproperties ('delta.enableDeletionVectors'='true', 'delta.columnMapping.mode'='name')"
)
OLD = ["id", "op", "lsn", "at", "v", "_deleted"]
COLUMNS = {
    "ignore": OLD,
    "append_new_columns": [*OLD, "extra"],
    "sync_all_columns": ["id", "op", "lsn", "at", "_deleted", "extra"],
}


def name_of(case: tuple[str, str, str]) -> str:
    return "_".join(case)


def model(mode: str, method: str, engine: str, select: str) -> str:
    meta = {
        "order_by": "lsn",
        "delete_when": "op = 'd'",
        "engine": engine,
        "ranges": {"column": "at", "method": method}
        | ({"k": 2} if method in ("gaps", "kmeans", "cover") else {}),
    }
    body = f"select {select} from {{{{ target.schema }}}}.pending"
    return merged(meta, body, on_schema_change=mode)


def table(project: Any, name: str, declared: str = TABLE, partition: str = "") -> None:
    """Thirty rows in three files, a day each."""
    made = f"{project.schema}.{name}"
    project.session.sql(f"create table {made} ({declared}) using delta {partition} {PROPERTIES}")
    project.session.sql(
        f"insert into {made} ({', '.join(OLD)}) select id, 'c', 1,"
        " timestamp'2024-01-01' + make_dt_interval(cast(id as int)), 'old', false"
        " from range(0, 30, 1, 3)"
    )


SAME = "id, op, lsn, at, v"
# The batch of this model keeps its contract.
PROMISED = name_of(QUICK[1])
CONTRACT = f"""
models:
  - name: {PROMISED}
    config: {{contract: {{enforced: true}}}}
    columns:
      - {{name: id, data_type: bigint}}
      - {{name: op, data_type: string}}
      - {{name: lsn, data_type: bigint}}
      - {{name: AT, data_type: timestamp}}
      - {{name: extra, data_type: double}}
"""
PENDING = """
create table {}.pending using delta as select cast(id as bigint) as id, op,
cast(lsn as bigint) as lsn, timestamp'2024-01-01' + make_dt_interval(id) as at, v,
cast(id as double) / 2 as extra from values (15, 'u', 2, 'new'), (16, 'u', 0, 'late'),
(25, 'd', 2, null), (40, 'c', 2, 'new') as t(id, op, lsn, v)
"""


def made(make_project: Callable[..., Any], name: str, cases: list[tuple[str, str, str]]) -> Any:
    """A project that merges the same batch into a table of each case."""
    project = make_project(name, {})
    project.session.sql(f"create schema {name}")
    project.session.sql(PENDING.format(name))
    for case in cases:
        selected = "id, op, lsn, at, extra" + (", v" if case[0] == "ignore" else "")
        project.write({f"models/{name_of(case)}.sql": model(*case, selected)})
        table(project, name_of(case))
    return project


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    """One run merges all of it, also into a table that is widened before."""
    project = made(make_project, "schema_change", QUICK)
    table(project, "failing")
    project.write(
        {"models/failing.sql": model("fail", "cover", "auto", SAME), "models/schema.yml": CONTRACT}
    )
    widen(project, "min_max")
    return run(project, *map(name_of, QUICK), "failing", "widened_min_max")


@pytest.fixture(scope="module")
def others(make_project: Callable[..., Any]) -> Any:
    cases = [case for case in CASES if case not in QUICK]
    project = made(make_project, "other_changes", cases)
    return run(project, *map(name_of, cases))


def run(project: Any, *names: str) -> Any:
    project.dbt("run", "--select", *names)
    project.done = {name: project.figures(name) for name in names}
    return project


@pytest.mark.parametrize("case", QUICK, ids=name_of)
def test_new_and_missing_columns(project: Any, case: tuple[str, str, str]) -> None:
    check(project, case)


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case not in QUICK], ids=name_of)
def test_more_new_and_missing_columns(others: Any, case: tuple[str, str, str]) -> None:
    check(others, case)


def check(project: Any, case: tuple[str, str, str]) -> None:
    mode, method, engine = case
    name = name_of(case)
    rows = project.read(f"select * from {{s}}.{name} order by id")
    assert rows.columns.tolist() == COLUMNS[mode]
    assert rows["id"].tolist() == [*range(30), 40]
    changed = rows[(rows["lsn"] == 2)].set_index("id")
    assert changed["op"].to_dict() == {15: "u", 25: "c", 40: "c"}
    assert rows[rows["_deleted"]]["id"].tolist() == [25]
    if mode != "ignore":
        # A tombstone keeps what the row had, and it had no such column.
        assert changed["extra"].dropna().to_dict() == {15: 7.5, 40: 20.0}
        assert rows["extra"].notna().sum() == 2
    if mode == "append_new_columns":
        # A column that the batch lacks stays as it was.
        assert changed["v"].fillna("none").to_dict() == {15: "old", 25: "old", 40: "none"}
    figures = project.done[name]
    assert figures["engine"] == ("one_commit" if engine == "auto" else engine)
    if method != "auto":  # three small files are not worth a range
        assert (figures["method"], figures["files_kept"]) == (method, 2)


def test_fail_lets_the_same_columns_pass_and_no_others(project: Any) -> None:
    """And a contract those that it names, in a run that is not the first, too."""
    assert project.done["failing"]["files_kept"] == 2
    assert len(project.read("select * from {s}.failing where lsn = 2")) == 3
    assert project.versions("failing") == 3
    before, path = project.versions(PROMISED), f"models/{PROMISED}.sql"
    for select in ("*", "id, op, lsn, at"):
        project.write(
            {"models/failing.sql": model("fail", "cover", "auto", select)}
            | {path: model(*QUICK[1], select)}
        )
        assert not project.try_dbt("run", "--select", "failing", PROMISED).success
        assert project.said("out of sync")
        assert project.said("enforced contract that failed")
    assert (project.versions("failing"), project.versions(PROMISED)) == (3, before)


@pytest.mark.slow
def test_no_column_is_dropped_that_the_merge_needs(project: Any) -> None:
    path = "models/needing.sql"
    table(project, "needing")
    project.write({path: model("sync_all_columns", "gaps", "auto", "id, op, v, extra")})
    assert not project.try_dbt("run", "--select", "needing").success
    project.remove(path)
    assert project.said("order_by: the model does not select lsn")
    assert project.said("ranges.column: the model does not select at")
    assert project.sql("select * from {s}.needing").columns.tolist() == OLD


def widen(project: Any, method: str) -> None:
    """A model whose key is wider than that of its table, which is widened after a refusal."""
    name = f"widened_{method}"
    table(project, name, TABLE.replace("id bigint", "id int"))
    select = "if(id = 40, 3000000000L, id) as id, op, lsn, at, v"
    text = model("sync_all_columns", method, "auto", select).replace(
        "'column': 'at'", "'column': 'id'"
    )
    project.write({f"models/{name}.sql": text})
    assert not project.try_dbt("run", "--select", name).success
    assert project.said(
        f"{project.schema}.{name}: id is bigint, in the table int. Delta widens a type where"
    )
    # No column was added or dropped before.
    assert project.versions(name) == 2
    project.session.sql(
        f"alter table {project.schema}.{name} set tblproperties ('delta.enableTypeWidening'='true')"
    )


def test_a_wider_type_keeps_its_ranges(project: Any) -> None:
    """Of a column whose files were written, and whose statistics are, in the narrower type."""
    check_widened(project, "min_max")


@pytest.mark.slow
def test_a_wider_type_keeps_its_cover(others: Any) -> None:
    widen(others, "cover")
    run(others, "widened_cover")
    check_widened(others, "cover")


def check_widened(project: Any, method: str) -> None:
    name = f"widened_{method}"
    rows = project.sql(f"select id, lsn, v, _deleted from {{s}}.{name}")
    assert str(rows["id"].dtype) == "int64"
    assert sorted(rows["id"]) == [*range(30), 3_000_000_000]
    assert sorted(rows[rows["lsn"] == 2]["id"]) == [15, 25, 3_000_000_000]
    assert rows[rows["_deleted"]]["id"].tolist() == [25]
    figures = project.done[name]
    assert (figures["method"], figures["files_kept"]) == (method, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode",
    ["append_new_columns", "fail", pytest.param("sync_all_columns", marks=pytest.mark.slow)],
)
def test_generated_columns_are_no_change(project: Any, mode: str) -> None:
    name = f"generated_{mode}"
    table(project, name, GENERATED, "partitioned by (day)")
    path = f"models/{name}.sql"
    project.write({path: model(mode, "cover", "auto", SAME)})
    project.dbt("run", "--select", name)
    project.remove(path)
    assert project.sql(f"select * from {{s}}.{name}").columns.tolist() == [*OLD, "day"]
    days = project.sql(f"select id, cast(day as string) as day from {{s}}.{name} where lsn = 2")
    assert sorted(days.itertuples(index=False, name=None)) == [
        (15, "2024-01-16"), (25, "2024-01-26"), (40, "2024-02-10"),
    ]  # fmt: skip
