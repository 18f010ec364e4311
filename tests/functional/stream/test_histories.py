"""Drawn histories of a landing folder and its bronze, against a model of what bronze must hold.

`HISTORIES=300` draws so many; `HISTORIES_SEED` makes them others.
"""

from __future__ import annotations

import gzip
import importlib
import itertools
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from functional.runner import new_session
from functional.stream.bronze import Bronze
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from alluvium import stream

# The package's attribute of this name is the function.
append = importlib.import_module("alluvium.stream.append")
pytestmark = pytest.mark.spark
HISTORIES = int(os.environ.get("HISTORIES", "3"))
NAMES = ("a.gz", "x/b.gz", "c.gz")
Place = tuple[str, int]


class KilledError(Exception):
    """The process ends here."""


class History:
    """A feed, and the same by the promise: names that were read, and places that are held."""

    def __init__(self, bronze: Bronze):
        self.bronze = bronze
        self.folder = bronze.landing
        self.folder.mkdir()
        self.whole: dict[str, bool] = {}  # files that lie there
        self.away: dict[str, bool] = {}
        self.read: set[str] = set()
        self.held: set[Place] = set()
        self.versions: list[set[Place]] = []
        self.moves = itertools.count(1)
        self.run()

    def places(self, name: str) -> set[Place]:
        return {(name, line) for line in range(2 + NAMES.index(name))}

    # What happens ------------------------------------------------------------------------

    def land(self, name: str) -> None:
        self._put(name, True)

    def truncate(self, name: str) -> None:
        self._put(name, False)

    def _put(self, name: str, whole: bool) -> None:
        lines = b"".join(b"%s %d %d\n" % (name.encode(), n, n**99) for _, n in self.places(name))
        content = gzip.compress(lines, mtime=0)
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if whole else content[:-12])
        self.whole[name] = whole
        self.away.pop(name, None)

    def remove(self, name: str) -> None:
        if name in self.whole:
            (self.folder / name).unlink()
            del self.whole[name]

    def archive(self, name: str) -> None:
        if name in self.whole:
            kept = self.bronze.root / f"archive/{name}"
            kept.parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).rename(kept)
            self.away[name] = self.whole.pop(name)

    def put_back(self, name: str) -> None:
        if name in self.away:
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.bronze.root / f"archive/{name}").rename(self.folder / name)
            self.whole[name] = self.away.pop(name)

    def rename_folder(self, _: str) -> None:
        new = self.bronze.root / f"landing{next(self.moves)}"
        self.folder.rename(new)
        self.folder = new
        self.bronze.block = {"path": str(new)}

    def lose_checkpoint(self, _: str) -> None:
        shutil.rmtree(self.bronze.checkpoint)
        self.read = set()

    def lose_metastore(self, _: str) -> None:
        location = self.bronze.target["location"]
        self.bronze.session.sql(f"drop table {self.bronze.name}")
        self.bronze.session.sql(
            f"create table {self.bronze.name} using delta location '{location}'"
        )

    def delete_rows(self, name: str) -> None:
        self._change(
            f"delete from {self.bronze.name} where _source_partition = '{name}'"
            " and _source_offset > 0",
            {place for place in self.held if place[0] != name or place[1] == 0},
        )

    def delete_file(self, name: str) -> None:
        self._change(
            f"delete from {self.bronze.name} where _source_partition = '{name}'",
            {place for place in self.held if place[0] != name},
        )

    def restore(self, name: str) -> None:
        version = [0, len(self.versions) // 2, len(self.versions) - 1][NAMES.index(name)]
        self._change(
            f"restore table {self.bronze.name} to version as of {version}", self.versions[version]
        )

    def _change(self, sql: str, held: set[Place]) -> None:
        self.bronze.session.sql(sql)
        self.held = held
        self._look()

    def kill_before(self, _: str) -> None:
        """Killed when the commit is planned."""
        new = self._new()
        if all(self.whole[name] for name in new) and self._is_killed_at("write"):
            # What bronze holds whole is noted before anything is planned.
            self.read |= {name for name in new if self.places(name) <= self.held}
        elif all(self.whole[name] for name in new):
            self._is_read(new)
        self._look()

    def kill_after(self, _: str) -> None:
        """Killed when the commit is made, and not noted."""
        new = self._new()
        if all(self.whole[name] for name in new):
            self._is_killed_at("_metrics")
            self._is_read(new)
        self._look()

    def _is_killed_at(self, method: str) -> bool:
        def killed(*_: object) -> None:
            raise KilledError

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(append._Run, method, killed)
            try:
                self.bronze.run()
            except KilledError:
                return True
        return False

    def run(self, _: str = "") -> None:
        new = self._new()
        if all(self.whole[name] for name in new):
            self.bronze.run()
            self._is_read(new)
        else:
            with pytest.raises(stream.StreamError):
                self.bronze.run()
        self._look()

    def _new(self) -> set[str]:
        return self.whole.keys() - self.read

    def _is_read(self, names: set[str]) -> None:
        self.held = self.held.union(*(self.places(name) for name in names))
        self.read |= names

    def _look(self) -> None:
        rows = self.bronze.session.table(self.bronze.name)
        found = rows.select("_source_partition", "_source_offset").collect()
        assert Counter(map(tuple, found)) == Counter(self.held)
        versions = self.bronze.versions()
        self.versions += [set(self.held)] * (versions - len(self.versions))


STEPS: list[Callable[[History, str], None]] = [
    History.land,
    History.land,
    History.truncate,
    History.remove,
    History.archive,
    History.put_back,
    History.rename_folder,
    History.lose_checkpoint,
    History.lose_metastore,
    History.delete_rows,
    History.delete_file,
    History.restore,
    History.kill_before,
    History.kill_after,
    History.run,
    History.run,
]
_numbers = itertools.count(1)


@seed(int(os.environ.get("HISTORIES_SEED", "0")))
@settings(
    max_examples=HISTORIES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(STEPS), st.sampled_from(NAMES)), min_size=4, max_size=12
    )
)
def test_no_place_is_lost_or_doubled(
    home: Path, tmp_path: Path, steps: list[tuple[Callable[[History, str], None], str]]
) -> None:
    session = new_session(home)
    session.sql("create schema if not exists bronze")
    number = f"{next(_numbers)}_{random.randrange(1 << 30)}"
    root = tmp_path / number
    root.mkdir()
    target = {"location": str(root / "table")}
    history = History(Bronze(root, session, f"bronze.h{number}", target=target))
    for step, name in steps:
        step(history, name)
    for name, whole in list(history.whole.items()):
        if not whole:
            history.land(name)
    history.run()
