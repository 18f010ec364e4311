"""Logs as Python and Arrow read them: those of delta-rs beside its reading, and rare forms."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from support import delta_log as written
from support.delta_log import add, commit, metadata, protocol, remove, txn, vector

from alluvium.plan.snapshot import Snapshot
from alluvium.status import log_reader
from alluvium.status.log_reader import LogError, read


def paths(folder: Path) -> list[str]:
    return sorted(read(folder)[1].files["path"].to_pylist())


def agree(folder: Path) -> Snapshot:
    """What is read, which delta-rs reads alike."""
    _, found = read(folder)
    table = DeltaTable(folder)
    theirs = pa.table(table.get_add_actions(flatten=True))
    assert (found.id, found.version) == (str(table.metadata().id), table.version())
    mine = pa.table({"path": found.files["path"], "size": found.files["size"], "rows": found.rows})
    wanted = theirs.select(["path", "size_bytes", "num_records"]).rename_columns(mine.column_names)
    order = [("path", "ascending")]
    assert mine.sort_by(order).to_pydict() == wanted.sort_by(order).to_pydict()
    return found


def test_tables_of_delta_rs(tmp_path: Path) -> None:
    rows = pa.table({"day": ["2025-01-01", "2025-01-02", None], "id": [1, 2, 3]})
    write_deltalake(tmp_path, rows, partition_by=["day"])
    agree(tmp_path)
    write_deltalake(tmp_path, rows, mode="append")
    table = DeltaTable(tmp_path)
    table.create_checkpoint()
    table.delete("id = 2")
    write_deltalake(tmp_path, rows, mode="append")
    found = agree(tmp_path)
    assert found.partition_by == ("day",)
    values = {one for row in found.files["partition_values"].to_pylist() for one in row}
    assert values == {("day", None), ("day", "2025-01-01"), ("day", "2025-01-02")}
    DeltaTable(tmp_path).create_checkpoint()
    log = tmp_path / "_delta_log"
    for version in range(3):
        (log / f"{version:020}.json").unlink()
    found = agree(tmp_path)
    assert found.version == 3
    assert [one.version for one in read(tmp_path)[0].newest_first()] == [3]


HEADS = [protocol(), metadata(properties={"a": "b"}), txn("one", 3), txn("two", 4)]


def test_commits_behind_a_checkpoint(tmp_path: Path) -> None:
    written.checkpoint(tmp_path, 4, [*HEADS, add("a", tags={"k": "v"}), add("b"), add("c")])
    commit(tmp_path, 5, written.info(), remove("b"), add("d"), txn("two", 9))
    commit(tmp_path, 6, written.info(), add("b"))
    found = read(tmp_path)[1]
    assert paths(tmp_path) == ["a", "b", "c", "d"]
    assert found.version == 6
    assert found.transactions == {"one": 3, "two": 9}
    assert found.properties == {"a": "b"}
    assert dict(zip(found.files["path"].to_pylist(), found.files["tags"].to_pylist(), strict=True))[
        "a"
    ] == [("k", "v")]
    assert found.rows.to_pylist() == [3] * 4


def test_a_checkpoint_of_parts(tmp_path: Path) -> None:
    first = [*HEADS, add("a")]
    parts = written.checkpoint(tmp_path, 2, first, [add("b")], [add("c")])
    commit(tmp_path, 3, add("d"))
    assert paths(tmp_path) == ["a", "b", "c", "d"]
    # Without one of them it is none; the one before counts, with the commits since.
    written.checkpoint(tmp_path, 1, [*HEADS, add("z")])
    commit(tmp_path, 2, remove("z"), add("y"))
    parts[1].unlink()
    assert paths(tmp_path) == ["d", "y"]


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_a_checkpoint_with_sidecars(tmp_path: Path, kind: str) -> None:
    heads = [protocol(3, "v2Checkpoint"), metadata(), txn("one", 3)]
    written.with_sidecars(tmp_path, 2, heads, [add("a"), add("b")], [add("c")], kind=kind)
    commit(tmp_path, 3, remove("b"))
    assert paths(tmp_path) == ["a", "c"]
    assert read(tmp_path)[1].transactions == {"one": 3}


def test_deletion_vectors(tmp_path: Path) -> None:
    """A file is there under one of them at a time."""
    first, second = vector("one", 1), vector("two", 2, None)
    written.checkpoint(tmp_path, 1, [*HEADS, add("a"), add("b", deletionVector=first)])
    commit(tmp_path, 2, add("a", deletionVector=first), remove("a"))
    commit(tmp_path, 3, remove("b", deletionVector=first), add("b", deletionVector=second))
    files = read(tmp_path)[1].files
    assert sorted(zip(files["path"].to_pylist(), files["deleted"].to_pylist(), strict=True)) == [
        ("a", 1),
        ("b", 2),
    ]


def test_statistics_that_are_parsed_alone(tmp_path: Path) -> None:
    """As delta.checkpoint.writeStatsAsJson = false leaves them."""
    table = pa.Table.from_pylist(
        [
            {"add": {"path": "a", "size": 1, "stats_parsed": {"numRecords": 7}}},
            {"add": None},
        ]
    )
    written.checkpoint(tmp_path, 0, HEADS)
    pq.write_table(table, tmp_path / "_delta_log" / f"{1:020}.checkpoint.parquet")
    commit(tmp_path, 2, metadata(), protocol())
    assert read(tmp_path)[1].rows.to_pylist() == [7]


def test_texts_that_hold_what_ends_a_line_to_python(tmp_path: Path) -> None:
    path = commit(tmp_path, 0, protocol(), metadata(), add("a"))
    with path.open("a", encoding="utf-8") as file:
        file.write(
            '{"commitInfo":{"operation":"WRITE","userMetadata":"a\u2028b\u0085c\\u000cd"}}\n'
        )
    assert next(read(tmp_path)[0].newest_first()).message == "a\u2028b\u0085c\fd"


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        (
            [protocol(3, "catalogManaged", "new"), metadata()],
            "reader feature that is not known: cat",
        ),
        ([protocol(4), metadata()], "asks for reader version 4; known are 1 to 3"),
        ([add("a")], "says neither columns nor protocol"),
        ([protocol(), metadata(), {"add": {"size": 3}}], "cannot be read: 'path'"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, actions: list[Any], said: str) -> None:
    commit(tmp_path, 0, *actions)
    with pytest.raises(LogError, match=said):
        read(tmp_path)


def test_what_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"no such folder: .*/none"):
        read(tmp_path / "none")
    with pytest.raises(LogError, match="not a Delta table: no log in"):
        read(tmp_path)
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(LogError, match="not a Delta table: no commit in"):
        read(tmp_path)


def test_a_gap(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata())
    commit(tmp_path, 2, add("a"))
    with pytest.raises(LogError, match="its log does not have version 1"):
        read(tmp_path)
    written.checkpoint(tmp_path, 1, [*HEADS, add("b")])
    assert paths(tmp_path) == ["a", "b"]


def test_a_commit_that_is_damaged(tmp_path: Path) -> None:
    """Behind a checkpoint it is told; before one its history ends there."""
    path = commit(tmp_path, 0, protocol(), metadata(), add("a"), add("b"))
    whole = path.read_text()
    path.write_text(whole.replace('{"add"', "add", 1))
    with pytest.raises(LogError, match="its log cannot be read: the commit of version 0 is not"):
        read(tmp_path)
    path.write_text(whole[:-9])
    commit(tmp_path, 1, add("c"))
    written.checkpoint(tmp_path, 1, [*HEADS, add("a")])
    commit(tmp_path, 2, add("d"))
    assert paths(tmp_path) == ["a", "d"]
    assert [one.version for one in read(tmp_path)[0].newest_first()] == [2, 1]


def test_a_checkpoint_that_is_cut(tmp_path: Path) -> None:
    (path,) = written.checkpoint(tmp_path, 1, [*HEADS, add("b")])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(LogError, match="its log cannot be read: Parquet magic bytes"):
        read(tmp_path)


@pytest.mark.parametrize("half", ["", '{"add":{"path":"b"', '{"commitInfo":{}}\n{"add":'])
def test_a_commit_that_is_being_written(tmp_path: Path, half: str) -> None:
    """The version before is told, and that one comes."""
    commit(tmp_path, 0, protocol(), metadata(), add("a"))
    path = commit(tmp_path, 1, add("b"))
    whole = path.read_text()
    path.write_text(half)
    log, found = read(tmp_path)
    assert (log.unfinished, found.version, found.files["path"].to_pylist()) == (1, 0, ["a"])

    def finish() -> None:
        time.sleep(log_reader._WAIT)
        path.write_text(whole)

    thread = threading.Thread(target=finish)
    thread.start()
    log, found = read(tmp_path)
    thread.join()
    assert (log.unfinished, found.version) == (None, 1)
    # One that others came behind is not being written: it is damaged.
    path.write_text(half)
    commit(tmp_path, 2, add("c"))
    with pytest.raises(LogError, match="its log changes while it is read"):
        read(tmp_path)


def test_files_that_a_cleanup_takes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(tmp_path, 0, protocol(), metadata(), add("a"))
    commit(tmp_path, 1, add("b"))
    lines, taken = log_reader._lines, []

    def clean_first(path: Path) -> tuple[str, ...]:
        if not taken:
            taken.append(path)
            written.checkpoint(tmp_path, 1, [*HEADS, add("a"), add("b")])
            path.unlink()
        return lines(path)

    monkeypatch.setattr(log_reader, "_lines", clean_first)
    assert paths(tmp_path) == ["a", "b"]
    assert [one.version for one in read(tmp_path)[0].newest_first()] == [1]
