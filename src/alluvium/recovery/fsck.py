"""Whether the files of tables are what their logs say; nothing is changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.delta.log.log_folder import LogFolder
from alluvium.delta.refs import dependents
from alluvium.delta.refs.dependents import Dependent
from alluvium.delta.refs.needed_files import NeededFiles
from alluvium.engine import jvm
from alluvium.engine.causes import first_line
from alluvium.engine.files import Files
from alluvium.paths import Place
from alluvium.plan.recovery import findings
from alluvium.plan.recovery.findings import RECOVER, Finding
from alluvium.plan.recovery.log_health import LogHealth
from alluvium.recovery import shown, streams
from alluvium.recovery.places import new_places
from alluvium.recovery.tables import Table, each, of_rename, with_tags
from alluvium.wording import counted

# Files whose rows are read for a look at the statistics, unless all are asked for.
SAMPLE = 20

# Tables that are looked at side by side. A look is many small jobs, and a job leaves most cores
# idle while Spark plans it.
_AT_ONCE = 4


@dataclass(frozen=True)
class Report:
    """What was found.

    Attributes:
        found: name of a table, and what is to be known of it.
        files: that were looked at.
        sampled: those of them whose rows were read.
    """

    tables: int
    found: tuple[tuple[str, Finding], ...]
    files: int
    sampled: int
    seconds: float

    @property
    def damaged(self) -> list[str]:
        """Names of the tables that are damaged."""
        return list(dict.fromkeys(name for name, one in self.found if one.is_damage))

    def lines(self) -> list[str]:
        """Lines of the console, a finding each."""
        return [one.line(name) for name, one in self.found]

    def summary(self) -> str:
        read = "of all" if self.sampled == self.files else f"of {self.sampled:,}"
        number = sum(one.is_damage for _, one in self.found)
        said = (
            f"{counted(number, 'damage')} in {counted(len(self.damaged), 'table')}"
            f" ({', '.join(self.damaged)})"
            if number
            else "no damage"
        )
        return (
            f"{counted(self.tables, 'table')}, {counted(self.files, 'data file')}"
            f" (statistics compared with the rows {read}): {said} in {self.seconds:.1f} s"
        )


class Fsck:
    """Looks at tables, some of them side by side.

    Args:
        tables: all of the project.
        homes: folders that the project's tables lie in; what leads out of them is told.
        full: whether the rows of all files are read, and not of a sample.
        say: tells a line while the work goes on.
    """

    def __init__(
        self,
        session: SparkSession,
        tables: Iterable[Table],
        homes: Iterable[str],
        *,
        full: bool = False,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._session = session
        self._tables = list(tables)
        self._by_name: Mapping[str, Table] = {one.name: one for one in self._tables}
        self._homes = list(homes)
        self._store = Files(session)
        self._full, self._say = full, say
        # A number for each table: threads add theirs.
        self._files: list[int] = []
        self._sampled: list[int] = []
        self._logs: dict[str, LogHealth] = {}

    def run(self, names: Iterable[str] | None = None) -> Report:
        """Look at these tables, or at all."""
        started = time.monotonic()
        chosen = [self._by_name[name] for name in names] if names is not None else self._tables
        tables = list(with_tags(self._session, chosen))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            looks = [jvm.beside(pool, self._session, partial(self._look, one)) for one in tables]
            try:
                found = [
                    (table.name, one)
                    for table, look in zip(each(tables, self._say), looks, strict=True)
                    for one in look.result()
                ]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        seconds = time.monotonic() - started
        return Report(len(tables), tuple(found), sum(self._files), sum(self._sampled), seconds)

    def _look(self, table: Table) -> list[Finding]:
        found = []
        try:
            for one in self._of_table(table):
                found.append(one)
        except (PySparkException, Py4JError) as error:
            # What it reads may be broken. The others are looked at.
            found.append(Finding("it was not looked at to the end", first_line(error), RECOVER))
        return found

    def _of_table(self, table: Table) -> Iterator[Finding]:
        """What is to be known of a table; nothing of one that was never built."""
        if (moved := of_rename(table, self._by_name)) is not None:
            yield moved
            return
        log = LogFolder(self._session, table.place)
        if not log.exists():
            if table.is_registered:
                yield Finding(
                    "its folder holds no table",
                    f"what reads the table fails; it was {table.place}",
                    f"a backup of the folder, or `drop table {table.relation}` and a build",
                )
            return
        if not table.is_registered:
            yield Finding(
                "the metastore does not know it",
                f"SQL finds no such table, though {table.place} holds one",
                RECOVER,
            )
        if table.is_half:
            yield Finding(
                "its files stay when it is dropped",
                "a kill, or a `create table` with a location, left its entry in the metastore so",
                RECOVER,
                is_damage=False,
            )
        wrong = self._health(table.place).findings()
        yield from wrong
        try:
            state = NeededFiles(self._session, table.place)
            self._files.append(state.count)
        except (PySparkException, Py4JError) as error:
            if not any(one.is_damage for one in wrong):
                why = first_line(error)
                yield Finding("Delta cannot read the log", why, "a backup of the log")
            return
        yield from self._of_files(table, state)
        away = list(self._of_paths(table, state))
        yield from away
        if table.shows is not None and not away:
            yield from self._of_head(table, self._by_name[table.shows], state)
        yield from self._of_progress(table)

    def _health(self, place: str) -> LogHealth:
        """What is to be known of the log of the table in a folder, which is looked at once."""
        if place not in self._logs:
            self._logs[place] = LogFolder(self._session, place).look()
        return self._logs[place]

    def _of_head(self, table: Table, candidate: Table, state: NeededFiles) -> Iterator[Finding]:
        """Whether a published table shows what its log says that it shows."""
        if state.snapshot.head is None:
            return
        try:
            found = shown.of_head(self._session, table, candidate)
        except (PySparkException, Py4JError):
            what = f"{candidate.name}, which it shows, cannot be read"
            yield Finding(what, "no publish can move it", RECOVER)
            return
        if found is not None:
            yield found

    def _of_progress(self, table: Table) -> Iterator[Finding]:
        found = []
        if table.checkpoint is not None:
            found.append(streams.of_checkpoint(self._session, table))
        events = [self._by_name[name] for name in table.events]
        if all(self._health(one.place).sound is not None for one in events):
            found.append(streams.of_progress(self._session, table, events))
        yield from (one for one in found if one is not None)

    def _of_files(self, table: Table, state: NeededFiles) -> Iterator[Finding]:
        damaged = state.damaged()
        yield from findings.of_files(damaged, is_tag=table.is_tag)
        vectors = [(file, why) for _, file, why in state.vectors()]
        yield from findings.of_vectors(vectors)
        if not table.is_tag:
            yield from findings.in_log(state.in_log, table.shows is not None)
        if not vectors and not any(one.damage in findings.UNUSABLE for one in damaged):
            columns, looked = state.wrong_bounds(None if self._full else SAMPLE)
            self._sampled.append(looked)
            yield from findings.of_bounds(columns, looked, state.count)
        try:
            entries = dependents.noted(self._session, state.root)
        except ValueError as error:
            yield Finding(
                "the register of the tables that show its files cannot be read",
                f"no vacuum deletes anything. {error}",
                "to delete that file, if nothing needs these files",
            )
            return
        yield from self._of_register(entries)
        others = {Place.of(one.location) for one in entries}
        others |= {Place.of(one.place) for one in self._tables if one.shows == table.name}
        yield from findings.orphans(*state.orphans(self._states(map(str, others))))

    def _of_register(self, entries: Iterable[Dependent]) -> Iterator[Finding]:
        """What is to be known of tables that the register of a folder names."""
        for one in entries:
            place = str(Place.of(one.location))
            [new] = new_places(self._store, self._homes, [place]).values() or [None]
            if new is not None:
                yield Finding(
                    f"the register names {one} in {place}",
                    "that is another home: a vacuum would delete what the one of this home needs",
                    RECOVER,
                )
            elif not LogFolder(self._session, place).exists():
                yield Finding(
                    f"the register names {one}, which is gone",
                    "a vacuum takes the entry away when it is older than a day",
                    is_damage=False,
                )

    def _states(self, places: Iterable[str]) -> Iterator[NeededFiles]:
        """The states of other tables; what cannot be read is told where it is looked at."""
        for place in sorted(places):
            if LogFolder(self._session, place).exists():
                try:
                    yield NeededFiles(self._session, place)
                except (PySparkException, Py4JError):
                    continue

    def _of_paths(self, table: Table, state: NeededFiles) -> Iterator[Finding]:
        places = new_places(self._store, self._homes, state.outside())
        elsewhere = sorted(old for old, new in places.items() if new is None)
        ours = sorted(places.keys() - elsewhere)
        if ours or (elsewhere and table.shows is not None):
            yield Finding(
                f"it shows files in {findings.named(ours or elsewhere)}",
                "they are those of the home that this one was copied from, and may change or go at"
                " any time",
                RECOVER,
            )
        elif elsewhere:
            yield Finding(
                f"it shows files in {findings.named(elsewhere)}",
                "it is a clone of a table elsewhere, and reads that table's files",
                is_damage=False,
            )
