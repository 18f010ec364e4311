"""The one-commit merge beside MERGE: same rows, same errors, same history, same conflicts."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlparse

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from functional.delta_rs import by_query
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.delta.log import committing, log
from alluvium.delta.merge import merge_command
from alluvium.delta.merge.merge_command import MergeCommand
from alluvium.engine import jvm
from alluvium.merge import one_commit, progress
from alluvium.merge.one_commit import Prepared, Refusal
from alluvium.plan.merge.figures import Merged

pytestmark = pytest.mark.spark

NUMBER = itertools.count()
COLUMNS = "k bigint, v string, seq bigint, n int, p string, _deleted boolean"
VECTORS = "'delta.enableDeletionVectors'='true'"
KINDS = {
    "plain": f"({COLUMNS}) using delta tblproperties ({VECTORS})",
    "partitioned": f"({COLUMNS}) using delta partitioned by (p) tblproperties ({VECTORS})",
    "mapped": f"({COLUMNS}, g bigint generated always as (k * 2)) using delta"
    f" tblproperties ({VECTORS}, 'delta.columnMapping.mode'='name')",
}
NEWER = "coalesce(s.seq > t.seq, s.seq is not null)"
ALL = "v = s.v, seq = s.seq, n = coalesce(s.n, t.n), p = s.p, _deleted = false"
MATCHED = [
    "",
    f"when matched and {NEWER} then update set {ALL}",
    f"when matched and s.n = 1 then delete when matched then update set {ALL}",
    "when matched then update set n = t.n + s.n, v = t.v || '!'",
    "when matched and t.n > 2 then update set n = s.n",
    "when matched then delete",
    f"when matched and {NEWER} and s.n > 3 then update set _deleted = true, seq = s.seq"
    f" when matched and {NEWER} then update set {ALL}",
    f"when matched and {NEWER} and s.n > 2 then delete",
]
INSERT = "then insert (k, v, seq, n, p) values (s.k, s.v, s.seq, s.n, s.p)"
UNMATCHED = [
    "",
    f"when not matched {INSERT}",
    f"when not matched and s.n > 1 {INSERT}",
    "when not matched and s.n > 3 then insert (k, v) values (s.k, 'many')"
    f" when not matched {INSERT}",
]
ON = [
    "s.k = t.k",
    "s.k is not distinct from t.k",
    "s.k = t.k and (t.k between 0 and 20 or t.k is null)",
    "s.k = t.k and t.n >= 1",
]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    spark.sql("create schema if not exists one")
    return spark


def create(session: SparkSession, kind: str, *rows: str) -> str:
    """A table of the kind, one file for each of `rows` (SQL values)."""
    name = f"one.t{next(NUMBER)}"
    session.sql(f"create table {name} {KINDS[kind]}")
    for values in rows:
        if kind == "mapped":  # which delta-rs does not write
            session.sql(
                f"insert into {name} ({COLUMN_NAMES})"
                f" select /*+ coalesce(1) */ * from values {values}"
            )
            continue
        made = duckdb.sql(f"select * from (values {plain(values)}) as t({COLUMN_NAMES})")
        table = newest(session, name)
        rows_of_file = made.to_arrow_table().cast(pa.schema(table.schema()))
        write_deltalake(table, rows_of_file, mode="append")
    return name


def plain(sql: str) -> str:
    """As DuckDB reads it, which has no escapes in texts."""
    return sql.replace("\\\\", "\\")


COLUMN_NAMES = "k, v, seq, n, p, _deleted"


def newest(session: SparkSession, table: str) -> DeltaTable:
    """The newest version as delta-rs reads it, which knows nothing of our commits."""
    return DeltaTable(urlparse(log.qualified(log.delta_log(session, table))).path)


def content(session: SparkSession, table: str) -> list[str]:
    return sorted(map(repr, by_query(newest(session, table)).to_pylist()))


def outcome(run: Callable[[], Any]) -> str:
    """`done`, or the class of the error."""
    try:
        run()
    except Py4JJavaError as error:
        return str(error.java_exception.getClass().getSimpleName())
    except PySparkException as error:
        return type(error).__name__
    return "done"


def ours(session: SparkSession, sql: str) -> Merged:
    merged = one_commit.merge(session, sql)
    assert isinstance(merged, Merged), merged
    return merged


def read_by(merged: Merged) -> int:
    """Files that a merge looked at."""
    assert merged.kept is not None
    return merged.kept.files


def values(rng: random.Random, keys: range, rows: int, unique: bool) -> str:
    chosen = rng.sample(keys, rows) if unique else [rng.choice(keys) for _ in range(rows)]

    def row(key: int) -> str:
        k = "null" if rng.random() < 0.05 else str(key)
        v = rng.choice(["null", "'a'", "'it''s'", "'ü\\\\x'"])
        p = rng.choice(["null", "'a b'", "'x/y%25=z'", "'c'"])
        deleted = rng.choice(["null", "true", "false"])
        seq, n = (rng.choice(["null", "1", "2", "3", "4"]) for _ in range(2))
        return f"({k}, {v}, {seq}, {n}, {p}, {deleted})"

    return ", ".join(row(key) for key in chosen)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=() if kind == "partitioned" else pytest.mark.slow)
        for kind in ("plain", "partitioned", "mapped")
    ],
)
def test_random_merges_leave_what_merge_leaves(session: SparkSession, kind: str) -> None:
    random_merges(session, kind, f"one commit, {kind}", 2)


@pytest.mark.slow
def test_batches_too_large_to_broadcast(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_commit, "_SMALL", -1)
    random_merges(session, "partitioned", "large", 1)


def test_files_outside_the_predicate_are_not_read(session: SparkSession) -> None:
    files = (
        f"({10 * n}, 'a', 1, 1, 'x', null), ({10 * n + 9}, 'a', 1, 1, 'x', null)" for n in range(5)
    )
    table = create(session, "plain", *files)
    sql = f"merge into {table} t using (select 10L as k) s on s.k = t.k and (t.k between 10 and 12"
    merged = ours(session, sql + " or t.k = 39) when matched then update set v = 'b'")
    assert (merged.updated, read_by(merged)) == (1, 2)


@pytest.mark.slow
def test_a_few_rows_that_match_very_many(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small batch is broadcast; what it matched is judged by itself."""
    planned, plan_for = [], MergeCommand.plan_for

    def spy(statement: MergeCommand, volume: int, small: bool) -> None:
        planned.append(small)
        plan_for(statement, volume, small)

    monkeypatch.setattr(MergeCommand, "plan_for", spy)
    monkeypatch.setattr(one_commit, "_SMALL", 10_000)
    theirs, mine = (create(session, "plain", "(1, 'a', 1, 1, 'x', null)") for _ in range(2))
    for table in (theirs, mine):
        session.sql(f"insert into {table} select id % 3, 'b', id, 1, 'y', null from range(9000)")
    sql = "merge into {} t using (select 1L as k, 'new' as v) s on s.k = t.k"
    sql += " when matched then update set v = s.v"
    session.sql(sql.format(theirs)).collect()
    assert ours(session, sql.format(mine)).updated == 3001
    assert content(session, mine) == content(session, theirs)
    assert planned == [True, False]


@pytest.mark.slow
def test_a_task_takes_no_more_than_it_can_hold(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shuffle partitions follow the volume of a batch that is not broadcast."""
    monkeypatch.setattr(one_commit, "_SMALL", -1)
    monkeypatch.setattr(merge_command, "_TASK", 20_000)
    # What Spark would join again to fewer tasks is seen in the files.
    session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    try:
        table = create(session, "plain", "(1, 'a', 1, 1, 'x', null)")
        batch = "select /*+ coalesce(1) */ id as k, sha1(string(id)) as v from range(5000)"
        merged = ours(
            session,
            f"merge into {table} t using ({batch}) s on s.k = t.k"
            " when matched then update set v = s.v"
            " when not matched then insert (k, v) values (s.k, s.v)",
        )
    finally:
        session.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
    assert (merged.inserted, merged.updated) == (4999, 1)
    assert (merged.files or 0) > int(str(session.conf.get("spark.sql.shuffle.partitions")))
    assert session.table(table).count() == 5000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_every_clause_leaves_what_merge_leaves(session: SparkSession, kind: str, seed: int) -> None:
    random_merges(session, kind, f"one commit, {kind}, {seed}", 99)


def random_merges(session: SparkSession, kind: str, seed: str, merges: int) -> None:
    """Merge after merge into one table, so that vectors are put upon vectors."""
    rng = random.Random(seed)
    first = [values(rng, range(30), 12, False) for _ in range(3)]
    theirs, mine = (create(session, kind, *first) for _ in range(2))
    duck = duckdb.connect()
    duck.execute(f"create table t ({COLUMNS})")
    for rows in first:
        duck.execute(f"insert into t values {plain(rows)}")
    combinations = [pair for pair in itertools.product(MATCHED, UNMATCHED) if any(pair)]
    rng.shuffle(combinations)
    for matched, unmatched in combinations[:merges]:
        unique = rng.random() < 0.7
        batch = values(rng, range(35), rng.choice([0, 1, 8, 15]) or 1, unique)
        where = rng.choice(["", "", "", " where k < 0"])
        source = f"(select * from values {batch} as s({COLUMN_NAMES}){where})"
        sql = f"merge into {{}} t using {source} s on {rng.choice(ON)} {matched} {unmatched}"
        said = outcome(lambda sql=sql: session.sql(sql.format(theirs)).collect())
        assert outcome(lambda sql=sql: ours(session, sql.format(mine))) == said, sql
        assert content(session, mine) == content(session, theirs), sql
        rows = session.table(mine).select(*COLUMN_NAMES.split(", ")).collect()
        if said == "done" and unique:
            theirs_too = sql.format("t").replace("into t t", "into t")
            theirs_too = theirs_too.replace("from values", "from (values").replace(" as s(", ") s(")
            duck.execute(plain(theirs_too))
            kept = sorted(map(repr, duck.execute("select * from t").fetchall()))
            assert kept == sorted(repr(tuple(row)) for row in rows), sql
        else:
            duck.execute("delete from t")
            for row in rows:
                duck.execute("insert into t values (?, ?, ?, ?, ?, ?)", list(row))


@pytest.mark.parametrize(
    ("clause", "done"),
    [
        ("then update set n = s.n", False),
        pytest.param("and s.n > 9 then delete", False, marks=pytest.mark.slow),
        ("then delete", True),
    ],
)
def test_several_source_rows_for_one_target_row(
    session: SparkSession, clause: str, done: bool
) -> None:
    theirs, mine = (create(session, "plain", "(1, 'a', 1, 1, 'x', null)") for _ in range(2))
    sql = "merge into {} t using (select * from values (1, 2), (1, 3) as s(k, n)) s on s.k = t.k"
    sql += f" when matched {clause}"
    said = outcome(lambda: session.sql(sql.format(theirs)).collect())
    assert (said == "done") == done
    assert outcome(lambda: ours(session, sql.format(mine))) == said
    assert content(session, mine) == content(session, theirs)


def test_history_reads_as_that_of_merge(session: SparkSession) -> None:
    rows = ["(1, 'a', 1, 1, 'x', null), (2, 'a', 1, 1, 'x', null)", "(3, 'a', 1, 1, 'x', null)"]
    theirs, mine = (create(session, "plain", *rows) for _ in range(2))
    sql = (
        "merge into {} t using (select * from values (1, 'b', 2), (3, 'b', 2), (4, 'b', 2)"
        " as s(k, v, seq)) s on s.k = t.k and t.k < 100"
        " when matched and s.k = 3 then delete when matched then update set v = s.v"
        " when not matched then insert (k, v) values (s.k, s.v)"
    )
    metadata = '{"who": "test"}'
    session.conf.set(committing.COMMIT_METADATA, metadata)
    try:
        session.sql(sql.format(theirs)).collect()
    finally:
        session.conf.unset(committing.COMMIT_METADATA)
    merged = one_commit.merge(session, sql.format(mine), metadata=lambda _: metadata)
    assert isinstance(merged, Merged)
    assert (merged.inserted, merged.updated, merged.deleted, merged.affected) == (1, 1, 1, 3)
    said = [session.sql(f"describe history {table}").first() for table in (theirs, mine)]
    for name in ("operation", "isBlindAppend", "isolationLevel", "userMetadata", "readVersion"):
        assert said[0][name] == said[1][name], name
    measured = {"executionTimeMs", "scanTimeMs", "rewriteTimeMs", "materializeSourceTimeMs"}
    measured |= {"numTargetBytesAdded", "numTargetFilesAdded"}
    counted = [
        {name: number for name, number in row["operationMetrics"].items() if name not in measured}
        for row in said
    ]
    assert counted[0] == counted[1]
    assert set(said[0]["operationMetrics"]) == set(said[1]["operationMetrics"])
    assert set(said[0]["operationParameters"]) == set(said[1]["operationParameters"])
    assert merged.files == int(said[1]["operationMetrics"]["numTargetFilesAdded"]) == 1


def test_progress_counts_once_and_nothing_stays_in_the_session(session: SparkSession) -> None:
    table = create(session, "plain", "(1, 'a', 1, 1, 'x', null)")
    sql = f"merge into {table} t using (select 1 as k) s on s.k = t.k when matched then delete"
    again = sql.replace("then delete", "then update set n = n + 1")
    app = progress.app_id("m", log.table_id(session, table))
    merged = one_commit.merge(session, again, progress=(app, 7))
    assert isinstance(merged, Merged)
    assert read_by(merged) == 1
    assert replace(merged, kept=None) == Merged(updated=1, version=2, **FILES)
    already = Merged(engine="one_commit", already_merged=True)
    assert one_commit.merge(session, again, progress=(app, 7)) == already
    assert progress.read(session, table, "m") == 7
    merged = one_commit.merge(session, sql, progress=(app, 8))
    assert isinstance(merged, Merged)
    assert merged.deleted == 1
    assert session.table(table).count() == 0
    settings = {row["key"] for row in session.sql("set").collect()}
    assert not settings & {committing.TXN_APP, committing.TXN_VERSION, committing.COMMIT_METADATA}
    nothing = sql.replace("select 1 as k", "select 1 as k where false")
    merged = one_commit.merge(session, nothing, progress=(app, 9))
    assert isinstance(merged, Merged)
    assert read_by(merged) == 0
    assert replace(merged, kept=None) == Merged(version=4, engine="one_commit", files=0, bytes=0)
    assert progress.read(session, table, "m") == 9


FILES: dict[str, Any] = {
    "engine": "one_commit",
    "files": 1,
    "bytes": pytest.approx(1e3, rel=1),
}


def test_files_whose_rows_all_change_are_dropped(session: SparkSession) -> None:
    rows = ["(1, 'a', 1, 1, 'x', null), (2, 'a', 1, 1, 'x', null)", "(3, 'a', 1, 1, 'x', null)"]
    table = create(session, "plain", *rows)
    sql = f"merge into {table} t using (select {{}} as k) s on s.k = t.k when matched then delete"
    for key, files in ((1, 2), (2, 1), (3, 0)):
        ours(session, sql.format(key))
        assert len(newest(session, table).file_uris()) == files
    figures = [commit["operationMetrics"] for commit in newest(session, table).history(3)]
    assert [row["numTargetDeletionVectorsRemoved"] for row in figures] == ["0", "1", "0"]
    assert [row["numTargetFilesRemoved"] for row in figures] == ["1", "1", "0"]


def test_constraints_hold(session: SparkSession) -> None:
    table = f"one.t{next(NUMBER)}"
    session.sql(
        f"create table {table} (k bigint not null, n int) using delta tblproperties ({VECTORS})"
    )
    session.sql(f"alter table {table} add constraint few check (n < 10)")
    session.sql(f"insert into {table} values (1, 1)")
    before = content(session, table)
    insert = f"merge into {table} t using (select {{}} as k, {{}} as n) s on s.k = t.k"
    insert += " when matched then update set n = s.n when not matched then insert (k, n)"
    insert += " values (s.k, s.n)"
    for row in (("null", 1), (2, 99), (1, 99)):
        sql = insert.format(*row)
        said = outcome(lambda sql=sql: session.sql(sql).collect())
        assert said != "done"
        assert outcome(lambda sql=sql: ours(session, sql)) == said
    assert content(session, table) == before


def test_types_and_columns_that_need_care(session: SparkSession) -> None:
    """Structs, a fixed-length string, defaults, odd names."""
    tables = []
    for _ in range(2):
        name = f"one.t{next(NUMBER)}"
        session.sql(
            f"create table {name} (k int, `a b` struct<x: int, y: string>, c char(4),"
            " d int default 5, l array<int>) using delta tblproperties"
            f" ({VECTORS}, 'delta.feature.allowColumnDefaults'='supported',"
            " 'delta.columnMapping.mode'='name')"
        )
        session.sql(
            f"insert into {name} select id, struct(id, 'q'), 'c', 1, array(1) from range(9)"
        )
        tables.append(name)
    sql = (
        "merge into {} t using (select cast(id as int) as k, 'zz' as c from range(5, 12)) s"
        " on s.k = t.k when matched then update set `a b`.y = s.c, c = s.c, l = null"
        " when not matched then insert (k, c) values (s.k, s.c)"
    )
    session.sql(sql.format(tables[0])).collect()
    ours(session, sql.format(tables[1]))
    assert content(session, tables[1]) == content(session, tables[0])


@pytest.mark.slow
def test_source_may_read_the_target_and_temporary_views(session: SparkSession) -> None:
    table = create(session, "plain", "(1, 'a', 1, 1, 'x', null), (2, 'b', 1, 1, 'x', null)")
    session.createDataFrame([(1, 10), (7, 70)], "k bigint, n int").createOrReplaceTempView("few")
    sql = (
        f"merge into {table} t using (select f.k, f.n + coalesce(o.n, 0) as n from few f"
        f" left join {table} o on o.k = f.k) s on s.k = t.k"
        " when matched then update set n = s.n"
        " when not matched then insert (k, n) values (s.k, s.n)"
    )
    ours(session, sql)
    rows = session.sql(f"select k, n from {table} order by k").collect()
    assert [tuple(row) for row in rows] == [(1, 11), (2, 1), (7, 70)]


@pytest.mark.slow
def test_cached_target_shows_the_merge(session: SparkSession) -> None:
    table = create(session, "plain", "(1, 'a', 1, 1, 'x', null)")
    session.sql(f"cache table {table}")
    ours(
        session,
        f"merge into {table} t using (select 1 as k) s on s.k = t.k"
        " when matched then update set v = 'new'",
    )
    assert session.table(table).first()["v"] == "new"
    session.sql(f"uncache table {table}")


@pytest.mark.parametrize(
    ("change", "clauses", "reason"),
    [
        ("'delta.enableDeletionVectors'='false'", "", "no deletion vectors"),
        ("'delta.enableChangeDataFeed'='true'", "", "change data feed"),
        ("'delta.enableRowTracking'='true'", "", "tracks rows"),
        ("", "when not matched by source then delete", "NOT MATCHED BY SOURCE"),
        ("", "when not matched then insert (k, v) values (s.k, uuid())", "each time"),
    ],
)
def test_what_it_cannot_do_is_refused_and_writes_nothing(
    session: SparkSession, change: str, clauses: str, reason: str
) -> None:
    table = create(session, "plain", "(1, 'a', 1, 1, 'x', null)")
    if change:
        session.sql(f"alter table {table} set tblproperties ({change})")
    version = newest(session, table).version()
    sql = f"merge into {table} t using (select 1L as k) s on s.k = t.k when matched then update"
    sql += f" set v = 'b' {clauses}"
    said = one_commit.merge(session, sql)
    assert isinstance(said, Refusal)
    assert reason in said.reason
    assert one_commit.refused(session, sql) == said.reason
    assert newest(session, table).version() == version


def test_values_that_a_table_makes_are_not_made_here(session: SparkSession) -> None:
    columns = "k bigint, n bigint generated by default as identity"
    properties = f"tblproperties ({VECTORS})"
    session.sql(f"create table one.numbered ({columns}) using delta {properties}")
    sql = "merge into one.numbered t using (select 1L as k) s on s.k = t.k when matched then delete"
    assert one_commit.refused(session, sql) == "the table has an identity column"


@pytest.mark.slow
def test_other_statements_and_wrong_ones(session: SparkSession) -> None:
    said = one_commit.merge(session, "select 1")
    assert isinstance(said, Refusal)
    with pytest.raises(PySparkException):
        one_commit.merge(session, "merge into nowhere t using x s on true when matched then delete")


def delta_prepares(session: SparkSession, sql: str) -> Prepared:
    """The merge as Delta's own steps do it, up to the commit."""
    statement = MergeCommand(session, sql, {})
    command, transaction = statement._command, statement._transaction
    spark = statement.copy.spark
    with statement.copy.active(), statement.in_transaction():
        command.prepareMergeSource(
            spark,
            command.source(),
            command.condition(),
            command.matchedClauses(),
            command.notMatchedClauses(),
            False,
        )
        found = command.findTouchedFiles(spark, transaction)
        written = command.writeAllChanges(spark, transaction, found._1(), found._2(), False)
        vectors = command.writeDVs(spark, transaction, found._1())
    figures = dict.fromkeys(
        (
            "numTargetRowsInserted",
            "numTargetRowsUpdated",
            "numTargetRowsDeleted",
            "numTargetFilesAdded",
            "numTargetBytesAdded",
        ),
        0,
    )
    return Prepared(
        statement, 0.0, actions=[*jvm.items(written), *jvm.items(vectors)], figures=figures
    )


CONFLICTS = {
    "insert inside the predicate": "insert into {t} (k, p) values (15, 'a')",
    "insert outside the predicate": "insert into {t} (k, p) values (500, 'a')",
    "insert into another partition": "insert into {t} (k, p) values (15, 'z')",
    "delete of a row that was read": "delete from {t} where k = 11",
    "delete of a row that changes": "delete from {t} where k = 10",
    "delete in another file": "delete from {t} where k = 300",
    "update of another file": "update {t} set n = 9 where k = 300",
    "merge of another key": "merge into {t} t using (select 300 as k) s on s.k = t.k"
    " and t.k > 200 when matched then update set n = 7",
    "compaction": "optimize {t}",
    "new property": "alter table {t} set tblproperties ('a' = 'b')",
    "new column": "alter table {t} add columns (extra int)",
}


# One that conflicts: `test_other_writers` of test_matching_files.py.
QUICK = [("partitioned", "insert into another partition")]


@pytest.mark.parametrize(
    ("kind", "conflict"),
    [
        pair if pair in QUICK else pytest.param(*pair, marks=pytest.mark.slow)
        for pair in itertools.product(("plain", "partitioned"), CONFLICTS)
    ],
)
def test_conflicts_are_those_of_merge(session: SparkSession, kind: str, conflict: str) -> None:
    """Something else commits after the merge has read and before it commits."""
    rows = ["(10, 'a', 1, 1, 'a', null), (11, 'a', 1, 1, 'a', null)", "(300, 'a', 1, 1, 'z', null)"]
    on = "s.k = t.k and t.k between 5 and 20" + (" and t.p = 'a'" if kind == "partitioned" else "")
    sql = (
        f"merge into {{}} t using (select * from values (10), (15) as s(k)) s on {on}"
        " when matched then update set n = 2"
        " when not matched then insert (k, n, p) values (s.k, 2, 'a')"
    )
    said = []
    for prepare in (delta_prepares, one_commit.prepare):
        table = create(session, kind, *rows)
        prepared = prepare(session, sql.format(table))
        assert isinstance(prepared, Prepared)
        session.sql(CONFLICTS[conflict].format(t=table)).collect()
        before = content(session, table)
        with prepared:
            said.append(outcome(prepared.commit))
        if said[-1] != "done":
            assert content(session, table) == before
        else:
            keys = by_query(newest(session, table))["k"].to_pylist()
            assert keys.count(10) == 1
    assert said[0] == said[1]
    if kind == "plain" and conflict.startswith("insert"):
        assert "ConcurrentAppendException" in said[1]
