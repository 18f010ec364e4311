"""The new files of a landing folder of a streaming table, one commit after another."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from itertools import count

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta.log import epochs, log
from alluvium.engine.causes import reason
from alluvium.engine.files import Files
from alluvium.ingest import ledger as ledgers
from alluvium.ingest.checkpoint import Checkpoint
from alluvium.ingest.events import PLACE, Trigger, lacking, register_view
from alluvium.ingest.file_source import FileSource
from alluvium.ingest.landing import Landed, may_be_listed, replaced, triggers, unread
from alluvium.ingest.ledger import Ledger
from alluvium.ingest.local_folder import each_once, read_places
from alluvium.ingest.naming import (
    base_of,
    began_at,
    naming,
    other_names,
    renamed,
    taken_along,
)
from alluvium.ingest.options import ARCHIVE, CLEANS, LINE_FORMATS
from alluvium.ingest.parsing import header_names, named_columns
from alluvium.ingest.spec import SpecError, StreamError, real
from alluvium.paths import LOCAL, Place, name_of
from alluvium.plan.versions import arrivals
from alluvium.wording import listed

# Commits that bring no events which an earlier one did not: of a compaction, of deletes.
_BRING_NOTHING = (
    "ADD COLUMNS",
    "ADD CONSTRAINT",
    "CHANGE COLUMN",
    "DELETE",
    "OPTIMIZE",
    "SET TBLPROPERTIES",
    "UNSET TBLPROPERTIES",
    "VACUUM END",
    "VACUUM START",
)
# So many commits are read one by one; after more of them the table is asked.
_COMMITS = 100
# So many names can prune the table's files by their bounds.
_PRUNING = 1000
_SHOWN = 5
# What it means that a header has a column, or misses one.
_UNNAMED = "The schema does not name it: its values stay in `_value` alone"
_ABSENT = "It is NULL for the events of such files"
_ELSEWHERE = "Fields may have other places in `_value` now: see `_headers`"


class Intake:
    """What one run reads of a landing folder."""

    def __init__(
        self, session: SparkSession, files: Files, source: FileSource, place: Checkpoint, table: str
    ):
        self._session = session
        self._files = files
        self._source = source
        self._place = place
        self._table = table
        # Of the table, up to which the ledger has its files.
        self.version = place.version
        self._check_archive()
        landed = source.landed(session)
        self._exists = landed is not None
        self._landed = [file for file in landed or () if file.size]
        # Names of files that a link on this machine leads to.
        self._linked: set[str] = set()
        self._ledger = self._open()
        if self._exists:
            self._name_files()
        elif self._ledger.is_new:
            self._ledger.save(self._files)
        self.unread = unread(self._landed, self._ledger.read)
        # Names of files that no writer of their format ends so: of lines a file may have none.
        has_lines = source.feed.spec.format in LINE_FORMATS
        empty = () if has_lines else [file for file in landed or () if not file.size]
        self.empty = [file.name for file in unread(self._named(empty), self._ledger.read)]
        # Files that were read and could not be cleaned up, and why.
        self._stay: list[str] = []
        self._look_at_table()

    @cached_property
    def _has_places(self) -> bool:
        return set(PLACE) <= set(self._session.table(self._table).columns)

    @property
    def absent(self) -> str | None:
        """The landing folder, where it does not exist."""
        return None if self._exists else self._source.path

    def warnings(self) -> list[str]:
        """What is wrong with the landing folder though the run succeeds, each told once."""
        source = self._source.feed.spec.source
        if not self._exists:
            return [f"source {source}: there is no {self._source.path}: nothing was read"]
        found = []
        if self._stay:
            found.append(
                f"source {source}: {CLEANS}: {listed(self._stay, _SHOWN)}: stays where it is"
            )
        if self._source.headers:
            found += self._changed_columns()
        if others := replaced(self._landed, self._ledger.read):
            self._ledger.note(self._files, {file.name: file.stamp for file in others}, {})
            names = listed([file.name for file in others], _SHOWN)
            found.append(
                f"source {source}: {names}: written again since it was read, and a file is read "
                "once. If its content is another, deliver it under a new name"
            )
        return found

    def _changed_columns(self) -> list[str]:
        """Columns that come or go in headers of csv files, each told once."""
        feed, session = self._source.feed, self._session
        schema = named_columns(session, feed)
        headers = [
            (name_of(file), header_names(session, feed, header))
            for header, file in self._source.headers.items()
        ]
        new, gone = self._ledger.changed_columns(self._files, headers, schema)
        came, went = (_UNNAMED, _ABSENT) if schema else (_ELSEWHERE, _ELSEWHERE)
        where = f"source {feed.spec.source}: the header of"
        return [
            *(f"{where} {file} has a new column {name}. {came}" for name, file in new.items()),
            *(f"{where} {file} misses the column {name}. {went}" for name, file in gone.items()),
        ]

    def events(self) -> DataFrame:
        """The events of all files that wait."""
        return self._source.trigger(self._session, self.unread).events

    def take(
        self,
        session: SparkSession,
        sql: str,
        view: str,
        write: Callable[[Trigger, int], int],
    ) -> None:
        """Write the events of all files that wait.

        Args:
            session: Gets the view of the events.
            sql: The query over them.
            view: Name of the view.
            write: Makes one commit of a trigger's events, under the number of its epoch. Returns
                the version of the table that it made, and raises if another run made it.
        """
        self._pass_over_held(session, sql, view)
        spec = self._source.feed.spec
        chosen = triggers(self.unread, spec.max_files_per_trigger, spec.max_bytes_per_trigger)
        for some in chosen:
            trigger = self._source.trigger(session, some)
            held = {file.name for file in some} & self._ledger.held.keys()
            if held:
                trigger = replace(trigger, events=self._lacking(trigger.events, held))
            self._ledger.plan(self._files, some)
            committed = write(trigger, self._ledger.epoch)
            replaces = self._place.replaces and self.version is None
            if replaces or committed == (self.version or 0) + 1:
                self.version = committed
            self._ledger.finish(self._files)
            self._clean(some)

    def _open(self) -> Ledger:
        place = self._place
        ledger = ledgers.load(self._files, place.location)
        if ledger.is_new:
            ledger.epoch = self._committed().number + 1
            if place.skips_known or ledger.epoch:
                self.version = log.version(self._session, self._table)
                ledger.held = self._held()
        elif ledger.planned is not None:
            if self._committed().number >= ledger.epoch:
                ledger.finish(self._files)
            else:
                ledger.forget(self._files)
        return ledger

    def _committed(self) -> epochs.Epoch:
        """The last epoch that the table's log knows."""
        return epochs.newest(self._session, self._table, self._place.app_id)

    def _name_files(self) -> None:
        """Name the files as the ledger does, whatever folder `path` begins with now."""
        ledger = self._ledger
        system = Place.of(self._files.qualified(self._source.path)).system
        path = self._source.folder(self._files)
        folder, written = (
            Place(system, "/") / one for one in (path, self._source.as_written(path))
        )
        if len(self._landed) == 1 and Place.of(self._landed[0].path).path == folder.path:
            folder = written = folder.parent  # the path is one file
        here = str(real(folder))
        root = str(real(Place.of(self._files.qualified(self._place.root))))
        if not ledger.read and not ledger.held:
            base = here
        elif ledger.base is None or ledger.root is None:
            # By the place itself, or by the links that the path names.
            times = self._known()
            ways = {way: began_at(way, self._landed, times) for way in (here, str(written))}
            base = next((str(real(Place.of(at))) for way, at in ways.items() if at != way), here)
        else:
            base = taken_along(ledger.base, ledger.root, root, here)
            base = here if Place.of(base) == Place.of(here) else self._base_of(base, here)
        self._source.naming = naming(base, here)
        self._landed = self._named(self._landed)
        if system == (at := Place.of(base)).system == LOCAL:
            self._landed, self._linked = each_once(self._landed, self._known(), at.path)
        self._stop_at_copies(here)
        if self._landed or not ledger.held:
            ledger.begin_at(self._files, base, root)
        elif ledger.is_new:
            # A disk that is away has no file that tells where names begin.
            ledger.save(self._files)

    def _known(self) -> dict[str, int]:
        """When each file that was read was written, in ms since 1970; -1 for unknown."""
        ledger = self._ledger
        read = {name: -1 if stamp is None else stamp[1] for name, stamp in ledger.read.items()}
        return ledger.held | read

    def _stop_at_copies(self, here: str) -> None:
        """Raise for a file that the table may hold by a name which its checkpoint did not read."""
        ledger = self._ledger
        # Once names have a base, days may bring files of one last name, which is all they share.
        is_told = ledger.base is not None
        found = next(other_names(self._landed, ledger.held, of_paths=is_told), None)
        if found is not None:
            name, was = found
            raise SpecError(
                self._source.feed.spec.source,
                [
                    f"path: {here} has a file {name} of the name and time of {was}, whose events "
                    f"{self._table} holds, and its checkpoint is newer than they: it cannot tell "
                    "whether they are one file. Accepted: the path, or the file's name, of before; "
                    "for new events, files of another time, as by `touch`"
                ],
            )

    def _named(self, files: Iterable[Landed]) -> list[Landed]:
        return [replace(file, name=renamed(file.name, self._source.naming)) for file in files]

    def _base_of(self, base: str, here: str) -> str:
        """The place where names begin, now that `path` has another folder."""
        ledger = self._ledger
        found = base_of(base, here, self._landed, ledger.read, ledger.held.keys(), self._lies_in)
        if found is None:
            raise SpecError(
                self._source.feed.spec.source,
                [
                    f"path: {here} has files with names and sizes of those that were read in "
                    f"{base}, and they are not just moved. They are copies or new events. "
                    "Accepted: the path of before; for copies this path, once you have deleted the "
                    f"folder {self._place.root}: the next run then reads what the table does not "
                    "have; for new events a path that both folders lie in"
                ],
            )
        return found

    def _lies_in(self, folder: str, name: str) -> bool:
        """Whether a file is there; what cannot be looked at may be."""
        try:
            return self._files.is_there(f"{folder}/{name}")
        except Py4JJavaError:
            return True

    def _held(self) -> dict[str, int]:
        """The files that the table holds events of, with their times in ms; -1 for unknown."""
        if not self._has_places:
            return {}
        table = self._session.table(self._table)
        is_known = dict(table.dtypes).get("_source_timestamp") == "timestamp"
        time = F.unix_millis(F.max("_source_timestamp")) if is_known else F.lit(None)
        names = table.groupBy(PLACE[0]).agg(F.coalesce(time, F.lit(-1))).collect()
        return {name: time for name, time in names if name is not None}

    def _look_at_table(self) -> None:
        """Note what the table got since this checkpoint last looked: a RESTORE may bring events.

        A checkpoint out of a backup is behind the table. What it does not know is compared.
        """
        if not self.unread or self._place.replaces:
            return
        version = log.version(self._session, self._table)
        if version == self.version:
            return
        committed = self._committed()
        is_behind = committed.number >= self._ledger.epoch or committed.passed_by > 0
        if is_behind and not self._has_places:
            raise StreamError(
                f"{self._table}: its checkpoint {self._place.root} is older than the table, and "
                f"without its columns {', '.join(PLACE)} it cannot tell what it holds; run with "
                "--full-refresh"
            )
        if is_behind:
            self._ledger.epoch = committed.number + 1
        if is_behind or (self._has_places and self._may_have_more(version)):
            self._ledger.note(self._files, {}, self._held())
        self.version = version

    def _may_have_more(self, version: int) -> bool:
        """Whether a commit since the last look may have brought events that are not of ours."""
        known = self.version
        if known is None or not 0 < version - known <= _COMMITS:
            return True
        return any(
            arrivals.stream_note(commit) is None and commit.operation not in _BRING_NOTHING
            for commit in log.newest_first(self._session, self._table, after=known)
        )

    def _pass_over_held(self, session: SparkSession, sql: str, view: str) -> None:
        """Note the waiting files of which the table holds all that the query selects."""
        held = [file for file in self.unread if file.name in self._ledger.held]
        if not held:
            return
        names = {file.name for file in held}
        events = self._lacking(self._source.trigger(session, held).events, names)
        register_view(session, events, view)
        rows = session.sql(sql)
        lacking = rows if PLACE[0] in rows.columns else events
        found = {row[0] for row in lacking.select(PLACE[0]).distinct().collect()}
        whole = [file for file in held if file.name not in found]
        if whole:
            self._ledger.note(self._files, {file.name: file.stamp for file in whole}, {})
            self.unread = unread(self._landed, self._ledger.read)

    def _lacking(self, events: DataFrame, held: set[str]) -> DataFrame:
        """The events whose places the table does not hold."""
        table = events.sparkSession.table(self._table)
        if len(held) <= _PRUNING:
            table = table.where(F.col(PLACE[0]).isin(*held))
        return lacking(events, table)

    def _check_archive(self) -> None:
        archive = self._source.feed.options.get(ARCHIVE)
        if archive is None:
            return
        at = real(Place.of(archive)).shown
        if any(may_be_listed(at, place) for place in read_places(self._source.path)):
            raise SpecError(
                self._source.feed.spec.source,
                [
                    f"options.{ARCHIVE}: {archive!r} lies where the source's files are "
                    "looked for; accepted: a folder outside of it"
                ],
            )

    def _clean(self, some: list[Landed]) -> None:
        """Delete or move away files that were read, as `cleanSource` says."""
        feed = self._source.feed
        if not feed.cleans:
            return
        archive = feed.options.get(ARCHIVE)
        for file in some:
            try:
                if file.name in self._linked:
                    self._stay.append(f"{file.name} (a link leads to it, and others may read it)")
                elif self._files.stamp(file.path) != file.stamp:
                    self._stay.append(f"{file.name} (written again since it was listed)")
                elif feed.options[CLEANS].lower() == "delete":
                    self._files.delete(file.path)
                else:
                    path = self._source.as_written(Place.of(file.path).path)
                    self._archive(file.path, f"{archive}{path}")
            except Exception as error:  # its events are in; the file may be another's meanwhile
                # Behind the move of a name with a colon Hadoop fails at the name of its checksum.
                if self._lies_in(str(Place.of(file.path).parent), name_of(file.path)):
                    self._stay.append(f"{file.name} ({reason(error)})")

    def _archive(self, path: str, new: str) -> None:
        """Move a file away; where its name is taken, under one of its own."""
        stem, suffix = posixpath.splitext(new)
        for number in count(1):
            try:
                self._files.rename(path, new if number == 1 else f"{stem}.{number}{suffix}")
            except FileExistsError:
                continue
            return
