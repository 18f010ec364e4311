"""A landing folder and its bronze, and the same by the promise: what bronze must hold.

A value names its place and its content, so a row that is lost, doubled or in a wrong place is told
apart by its value alone. Bronze is read with delta-rs, files are written with plain Python.
"""

from __future__ import annotations

import copy
import gzip
import json
import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from functional.delta_rs import by_query
from functional.stream.bronze import VIEW, Bronze
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium import ingest as stream
from alluvium.delta.log import own_commit
from alluvium.engine.files import Files
from alluvium.ingest.intake import Intake
from alluvium.ingest.ledger import Ledger
from alluvium.ingest.micro_batches import MicroBatches

NAMES = ("a.gz", "x/b.gz", "x/k=1/c%20ü.txt", "cu\u0308\n.txt")
FORMATS: dict[str, dict[str, Any]] = {
    "text": {"format": "text"},
    "csv": {
        "format": "csv",
        "schema": "of int, written int, line int, t string",
        "options": {"header": True},
    },
    "json": {"format": "json", "schema": "of int, written int, line int"},
}
QUERIES = {
    "all": f"select * from `{VIEW}`",
    "filtered": f"select * from `{VIEW}` where _source_offset % 3 > 0",
    "without places": f"select _value from `{VIEW}`",
}
# What an action returns that had nothing to do.
NOTHING = object()
Place = tuple[str, int]
Stamp = tuple[int, int]


class KilledError(Exception):
    """The process ends here."""


@dataclass(frozen=True)
class File:
    """A file as it was written.

    Attributes:
        values: Of the events that the query selects, by place.
        stamp: Size and time; a file without content is not there to read.
        whole: Whether it can be read to its end.
    """

    values: dict[Place, str]
    stamp: Stamp
    whole: bool


@dataclass
class Promise:
    """What must be so.

    Attributes:
        landed: Files that lie in the folder, by name.
        away: Files that were moved away.
        read: Files that the checkpoint knows, with their stamps; None where it is unknown.
        unsure: Files that it may know: bronze had all of them when a run was killed.
        held: What bronze holds.
        refreshing: A full refresh has begun and replaced nothing yet.
        stuck: Nothing tells what a bronze without places holds.
        died: The last run was killed.
        table_id: Of bronze.
    """

    landed: dict[str, File] = field(default_factory=dict)
    away: dict[str, File] = field(default_factory=dict)
    read: dict[str, Stamp | None] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)
    held: dict[Place, str] = field(default_factory=dict)
    refreshing: bool = False
    stuck: bool = False
    died: bool = False
    table_id: str = ""

    def new(self) -> dict[str, File]:
        found = {name: file for name, file in self.landed.items() if file.stamp[0] > 0}
        return {name: file for name, file in found.items() if name not in self.read}

    def forget(self, *, placeless: bool) -> None:
        """The checkpoint is gone, or is not the table's."""
        self.read = {}
        self.unsure = set()
        self.stuck = placeless
        self.refreshing = False


class History:
    """A feed of a drawn kind."""

    def __init__(self, folder: Path, session: SparkSession, name: str, rng: random.Random):
        self.rng = rng
        self.format = rng.choice(sorted(FORMATS))
        self.query = rng.choice(["all", "all", "filtered", "without places"])
        self.triggers = rng.choice([None, None, 1, 2])
        vectors = {"delta.enableDeletionVectors": rng.choice(["true", "false"])}
        self.names = rng.sample(NAMES, 3)
        self.folder = "landing"
        self.writes = 0
        self.said: list[str] = []
        self.promise = self.kept = Promise()
        self.bronze = Bronze(
            folder, session, name, sql=QUERIES[self.query], target={"tblproperties": vectors}
        )
        self._place_at(folder)
        (folder / self.folder).mkdir(parents=True)
        self.run()

    def _place_at(self, folder: Path) -> None:
        self.bronze.root = folder
        self.bronze.target = self.bronze.target | {"location": str(folder / "table")}
        limit = {"max_files_per_trigger": self.triggers} if self.triggers else {}
        self.bronze.block = FORMATS[self.format] | {"path": str(folder / self.folder)} | limit

    def at(self, folder: Path, session: SparkSession) -> History:
        """The same, in a copy of its folder."""
        other = copy.copy(self)
        other.promise = copy.deepcopy(self.promise)
        other.bronze = copy.copy(self.bronze)
        other.bronze.session = session
        other.said = [*self.said, f"at {folder}"]
        other.rng = random.Random(self.rng.random())
        other._place_at(folder)
        return other

    def __repr__(self) -> str:
        kind = f"{self.format}, {self.query}, {self.triggers} files a trigger"
        return f"{kind}: {'; '.join(self.said)}"

    def step(self) -> None:
        """Something happens to the files or the table, and often it is run then."""
        while True:
            action = self.rng.choice(ACTIONS)
            name = self.rng.choice(self.names)
            self.said.append(f"{action.__name__} {name!r}")
            if action(self, name) is not NOTHING:
                break
            self.said.pop()
        if self.rng.random() < 0.6:
            run = self.rng.choice([self.run, self.run, self.kill])
            self.said.append(run.__name__)
            run()

    def end(self) -> None:
        """All files come whole, and are read."""
        self.said.append("end")
        for name, file in list(self.promise.landed.items()):
            if not file.whole:
                self.land(name)
        if self.promise.stuck:
            self.full_refresh()
        self.run()

    # Files -------------------------------------------------------------------------------

    @property
    def landing(self) -> Path:
        return self.bronze.root / self.folder

    def land(self, name: str) -> None:
        """The file, under its name; other content if it was there before."""
        self._write(name, self.rng.randrange(2, 5), whole=True)

    def truncate(self, name: str) -> object:
        if not name.endswith(".gz"):
            return NOTHING
        self._write(name, self.rng.randrange(2, 5), whole=False)
        return None

    def empty(self, name: str) -> None:
        self._write(name, 0, whole=True)

    def _write(self, name: str, lines: int, *, whole: bool) -> None:
        self.writes += 1
        of = NAMES.index(name)
        first = 1 if self.format == "csv" else 0
        values = {
            (name, first + line): self._line(of, self.writes, first + line) for line in range(lines)
        }
        text = "".join(f"{value}\n" for value in values.values())
        if self.format == "csv" and lines:
            text = f"of,written,line,t\n{text}"
        content = gzip.compress(text.encode(), mtime=0) if name.endswith(".gz") else text.encode()
        if not lines:
            content = b""
        path = self.landing / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if whole else content[:-12])
        # Clocks differ: a file that comes later may look older.
        seconds = 1_700_000_000 + self.writes + 1000 * self.rng.randrange(-5, 5)
        os.utime(path, (seconds, seconds))
        stamp = (path.stat().st_size, seconds * 1000)
        selected = {
            place: value
            for place, value in values.items()
            if self.query != "filtered" or place[1] % 3 > 0
        }
        self.promise.landed[name] = File(selected, stamp, whole)
        if name in self.promise.away:
            (self.bronze.root / "away" / name).unlink()
            del self.promise.away[name]

    def _line(self, of: int, written: int, line: int) -> str:
        if self.format == "json":
            return json.dumps({"of": of, "written": written, "line": line, "t": written**50})
        return f"{of},{written},{line},{written**50}"

    def remove(self, name: str) -> object:
        if not self.promise.landed.pop(name, None):
            return NOTHING
        (self.landing / name).unlink()
        return None

    def archive(self, name: str) -> object:
        if name not in self.promise.landed:
            return NOTHING
        kept = self.bronze.root / "away" / name
        kept.parent.mkdir(parents=True, exist_ok=True)
        (self.landing / name).rename(kept)
        self.promise.away[name] = self.promise.landed.pop(name)
        return None

    def put_back(self, name: str) -> object:
        if name not in self.promise.away:
            return NOTHING
        (self.landing / name).parent.mkdir(parents=True, exist_ok=True)
        (self.bronze.root / "away" / name).rename(self.landing / name)
        self.promise.landed[name] = self.promise.away.pop(name)
        return None

    def rename_folder(self, _: str) -> None:
        self.writes += 1
        new = f"landing {self.writes}"
        self.landing.rename(self.bronze.root / new)
        self.folder = new
        self._place_at(self.bronze.root)

    # Tables ------------------------------------------------------------------------------

    def lose_checkpoint(self, _: str) -> object:
        if not self.bronze.checkpoint.exists():
            return NOTHING
        shutil.rmtree(self.bronze.checkpoint)
        self.promise.forget(placeless=self._is_placeless())
        return None

    def _is_placeless(self) -> bool:
        """Whether nothing but the checkpoint tells what was read."""
        if self.query != "without places":
            return False
        log = self.bronze.root / "table/_delta_log"
        return any("alluvium_stream" in path.read_text() for path in log.glob("*.json"))

    def old_checkpoint(self, _: str) -> object:
        """A checkpoint is kept, or the one that was kept is put back."""
        kept = self.bronze.root / "kept"
        promise = self.promise
        if not kept.exists():
            if promise.refreshing or promise.stuck or not self.bronze.checkpoint.exists():
                return NOTHING
            shutil.copytree(self.bronze.checkpoint, kept)
            self.kept = copy.deepcopy(promise)
            return None
        if self.query == "without places":
            return NOTHING
        shutil.rmtree(self.bronze.checkpoint, ignore_errors=True)
        kept.rename(self.bronze.checkpoint)
        promise.forget(placeless=False)
        if self.kept.table_id == promise.table_id:
            promise.read, promise.unsure = self.kept.read, self.kept.unsure
        return None

    def lose_metastore(self, _: str) -> None:
        location = self.bronze.target["location"]
        self.bronze.session.sql(f"drop table {self.bronze.name}")
        self.bronze.session.sql(
            f"create table {self.bronze.name} using delta location '{location}'"
        )

    def delete_rows(self, name: str) -> object:
        return self._delete(lambda place: place[0] == name and place[1] > 1)

    def delete_file(self, name: str) -> object:
        return self._delete(lambda place: place[0] == name)

    def _delete(self, wanted: Callable[[Place], bool]) -> object:
        held = self.promise.held
        gone = [value for place, value in held.items() if wanted(place)]
        if not gone:
            return NOTHING
        values = ", ".join(f"'{value}'" for value in gone)
        self.bronze.session.sql(f"delete from {self.bronze.name} where _value in ({values})")
        self.promise.held = {place: v for place, v in held.items() if not wanted(place)}
        self._look()
        return None

    def compact(self, _: str) -> None:
        self.bronze.session.sql(f"optimize {self.bronze.name}")
        self._look()

    def restore(self, _: str) -> object:
        newest = self._table().version()
        version = self.rng.randrange(newest + 1)
        if version == newest:
            return NOTHING
        self.said[-1] += f" {version}"
        held, table_id = self._found(version)
        self.bronze.session.sql(f"restore table {self.bronze.name} to version as of {version}")
        if table_id != self.promise.table_id:
            self.promise.forget(placeless=self._is_placeless())
        self.promise.held, self.promise.table_id = held, table_id
        self._look()
        return None

    # Runs --------------------------------------------------------------------------------

    def run(self, _: str = "") -> None:
        self._run()

    def full_refresh(self, _: str = "") -> None:
        self.promise.refreshing, self.promise.stuck = True, False
        self._run(full_refresh=True)

    def kill(self, _: str = "") -> None:
        """Die at a drawn point; the run may not come so far."""
        point = self.rng.choice(sorted(POINTS))
        calls = self.rng.randrange(1, 4)
        self.said[-1] = f"killed at {point}, {calls}"
        with POINTS[point](calls):
            self._run(dies=True)

    def _run(self, *, dies: bool = False, full_refresh: bool = False) -> None:
        promise = self.promise
        if promise.stuck:
            with pytest.raises(stream.StreamError, match="--full-refresh"):
                self.bronze.run()
            self._look()
            return
        new = promise.landed if promise.refreshing else promise.new()
        broken = {name for name, file in new.items() if not file.whole}
        known = dict(promise.read)
        figures, error = None, ""
        try:
            figures = self.bronze.run(full_refresh=full_refresh)
        except (KilledError, stream.StreamError, PySparkException) as caught:
            error = str(caught)
        if figures is None:
            assert broken or (dies and "killed" in error), error
        else:
            assert not broken - promise.unsure
        self._settle(done=figures is not None)
        if figures is None:
            promise.died = True
            return
        # A run that dies as it notes what it tells has not told it, or it is told once more.
        died, promise.died = promise.died, False
        for name, file in promise.landed.items():
            told = any(name in warning for warning in figures.warnings)
            if known.get(name) and not promise.refreshing and not died:
                assert told == (known[name] != file.stamp and file.stamp[0] > 0), figures
        promise.refreshing = False

    def _settle(self, *, done: bool) -> None:
        """What a run did is a part of what it may do, and all of it where it came to its end."""
        promise = self.promise
        found, table_id = self._found()
        if promise.refreshing:
            if table_id == promise.table_id:
                assert not done
                self._look()
                return
            promise.held, promise.read, promise.unsure = {}, {}, set()
        if promise.table_id and not promise.refreshing:
            assert table_id == promise.table_id
        promise.table_id = table_id
        wanted = dict(promise.held)
        for name, file in promise.new().items():
            lacking = {
                place: value for place, value in file.values.items() if place not in promise.held
            }
            got = lacking.keys() & found.keys()
            assert not got or (got == lacking.keys() and file.whole), (name, got)
            if got:
                wanted |= lacking
            if done:
                assert name in promise.unsure or (got == lacking.keys() and file.whole), name
            if done or got:
                promise.read[name] = file.stamp
            elif not lacking:
                promise.unsure.add(name)
        if done:
            # Other content under a name that was read is told, and noted.
            for name, file in promise.landed.items():
                if name in promise.read and file.stamp[0] > 0:
                    promise.read[name] = file.stamp
            promise.unsure = set()
        elif promise.refreshing:
            promise.refreshing = False
        promise.held = wanted
        assert found == wanted

    def _look(self) -> None:
        assert self._found()[0] == self.promise.held

    def _found(self, version: int | None = None) -> tuple[dict[Place, str], str]:
        """What bronze holds, and its id."""
        table = self._table(version)
        rows = by_query(table).to_pylist()
        assert max(Counter(row["_value"] for row in rows).values(), default=1) == 1, rows
        found = {}
        for row in rows:
            of, _, line = map(int, re.findall(r"\d+", row["_value"])[:3])
            place = NAMES[of], line
            assert place not in found, place
            if self.query != "without places":
                assert place == (row["_source_partition"], row["_source_offset"])
            found[place] = row["_value"]
        return found, str(table.metadata().id)

    def _table(self, version: int | None = None) -> DeltaTable:
        return DeltaTable(self.bronze.root / "table", version=version)


def _at(owner: Any, name: str) -> Callable[[int], Any]:
    """Die when a method is called for this time."""

    @contextmanager
    def dying(calls: int) -> Iterator[None]:
        original = getattr(owner, name)
        left = [calls]

        def method(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if not left[0]:
                raise KilledError("killed")
            return original(*args, **kwargs)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, name, method)
            yield

    return dying


def _within_the_job() -> Callable[[int], Any]:
    """Die with files that are written and not committed."""

    @contextmanager
    def dying(calls: int) -> Iterator[None]:
        left = [calls]

        def few_files(_: Any, rows: DataFrame, *__: Any) -> DataFrame:
            left[0] -= 1
            if left[0]:
                return rows
            died = F.raise_error(F.lit("killed")).cast("boolean")
            return rows.where(F.when(F.rand() < 0.5, died).otherwise(F.lit(True)) | died)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(MicroBatches, "_few_files", few_files)
            yield

    return dying


POINTS: dict[str, Callable[[int], Any]] = {
    "listing": _at(Intake, "_open"),
    "plan": _at(Ledger, "plan"),
    "commit": _at(MicroBatches, "write"),
    "job": _within_the_job(),
    "committed": _at(own_commit, "metrics"),
    "noted": _at(Ledger, "finish"),
    "name of a note": _at(Files, "_rename"),
    "old note": _at(Files, "delete"),
}
ACTIONS: list[Callable[[History, str], object]] = [
    *[History.land] * 6,
    *[History.truncate] * 3,
    History.empty,
    History.remove,
    *[History.archive] * 2,
    *[History.put_back] * 3,
    History.rename_folder,
    *[History.lose_checkpoint] * 2,
    *[History.old_checkpoint] * 2,
    History.lose_metastore,
    *[History.delete_rows] * 2,
    History.delete_file,
    History.compact,
    *[History.restore] * 2,
    *[History.full_refresh] * 2,
    History.kill,
    History.run,
]
