"""What makes tables readable again, and says what is lost; nothing is deleted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.log import log
from alluvium.delta.log.log_folder import LogFolder
from alluvium.delta.published.inline_vectors import InlineVectors
from alluvium.delta.published.published import Publisher
from alluvium.delta.published.setting_back import SettingBack
from alluvium.delta.refs import dependents, unregistered
from alluvium.delta.refs.needed_files import NeededFiles
from alluvium.delta.refs.relocated import Relocation
from alluvium.engine.causes import first_line
from alluvium.engine.files import Files
from alluvium.paths import name_of
from alluvium.plan.recovery import findings
from alluvium.plan.recovery.log_health import Repair
from alluvium.plan.versions.batches import touched
from alluvium.recovery import shown, streams
from alluvium.recovery.places import new_places
from alluvium.recovery.tables import Table, each, of_rename, with_tags
from alluvium.wording import counted

# Beside the log of a table: what was moved out of it.
ASIDE = "_alluvium/recovered"


class Recovery:
    """Puts tables right, one by one.

    Args:
        tables: of the project, candidates before what shows them; and others of the warehouse.
        homes: folders that the project's tables lie in.
        dry_run: only says what would be done.
        say: tells a line while the work goes on.
        now: the time.

    Attributes:
        left: names of tables with which something could not be done.
    """

    def __init__(
        self,
        session: SparkSession,
        tables: Iterable[Table],
        homes: Iterable[str],
        *,
        dry_run: bool = True,
        say: Callable[[str], None] = lambda _: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._session = session
        self._tables = list(tables)
        self._by_name: Mapping[str, Table] = {one.name: one for one in self._tables}
        self._homes = list(homes)
        self._does, self._say = not dry_run, say
        self._files = Files(session)
        self._stamp = datetime.fromtimestamp(now(), UTC).strftime("%Y%m%dT%H%M%SZ")
        self.left: list[str] = []
        # Candidates that went back, or are going to, and the version that they go back to.
        self._moved: dict[str, int] = {}

    def run(self, names: Iterable[str] | None = None) -> list[str]:
        """Put these tables right, or all, and what shows them; lines that say what was done."""
        wanted = set(self._by_name if names is None else names)
        chosen = [one for one in self._tables if {one.name, one.shows} & wanted]
        lines = []
        for table in each(list(with_tags(self._session, chosen)), self._say):
            try:
                lines += [f"{table.name}: {line}" for line in self._of_table(table)]
            except (ValueError, PySparkException, Py4JError) as error:
                lines.append(f"{table.name}: nothing could be done: {first_line(error)}")
                self.left.append(table.name)
        return lines

    def _of_table(self, table: Table) -> Iterator[str]:
        if (moved := of_rename(table, self._by_name)) is not None:
            self.left.append(table.name)
            yield f"{moved.what}: {moved.means}; accepted: {moved.helps}"
            return
        folder = LogFolder(self._session, table.place)
        if not folder.exists():
            if table.is_registered:
                yield (
                    f"its folder {table.place} holds no table, and its rows are lost; accepted: a"
                    f" backup of the folder, or `drop table {table.relation}` and a build"
                )
            return
        repair = folder.look().repair()
        if repair is not None:
            yield from self._of_log(table, folder, repair)
            if not self._does and not self._reads(table, repair):
                yield self._told("looks", "at its data files, when its log can be read")
                return
        if not table.is_registered:
            yield self._told("registers", "it with the metastore again")
            if self._does:
                self._register(table)
        elif table.is_half:
            yield self._told("lets", "its files go with it when it is dropped")
            if self._does:
                unregistered.manage(self._session, table.relation)
        yield from self._of_register(table)
        if table.shows is None:
            yield from self._of_paths(table)
            yield from self._of_files(table)
        else:
            yield from self._of_published(table, self._by_name[table.shows])
        if not table.is_tag:
            yield from self._of_vectors(table)
        if table.checkpoint is not None:
            yield from self._of_stream(table)

    # The log -----------------------------------------------------------------------------------

    def _of_log(self, table: Table, folder: LogFolder, repair: Repair) -> Iterator[str]:
        aside = f"{ASIDE}/{self._stamp}"
        number = counted(len(repair.aside), "file")
        some = findings.named(repair.aside)
        yield self._told("moves", f"{number} of its log ({some}) to {aside} in its folder")
        if repair.lost is None:
            yield self._told("reads", f"version {repair.version}, as before; no row is lost")
        else:
            first, last = repair.lost
            lost = f"version {first} is" if first == last else f"versions {first} to {last} are"
            yield self._told(
                "goes back", f"to version {repair.version}: {lost} lost, with what came in them"
            )
            self._moved[table.name] = repair.version
        if not self._does:
            return
        for name in repair.aside:
            self._files.rename(f"{folder.place}/{name}", f"{table.place}/{aside}/{name}")
        state = NeededFiles(self._session, table.place)
        if state.version != repair.version:
            raise ValueError(
                f"Delta reads version {state.version} after that, not {repair.version}; the files"
                f" are in {aside}"
            )
        if repair.lost is not None:
            note = f"alluvium.recover: lost {lost}; their files of the log are in {aside}"
            # A commit that changes nothing, and says what happened.
            SettingBack(state.snapshot, state.snapshot).commit(note)

    def _reads(self, table: Table, repair: Repair) -> bool:
        """Whether Delta reads the log as it is, and finds what it would find afterwards."""
        try:
            state = NeededFiles(self._session, table.place)
            return state.version == repair.version and state.count >= 0
        except (PySparkException, Py4JError):
            return False

    def _register(self, table: Table) -> None:
        schema, _, _ = table.relation.rpartition(".")
        self._session.sql(f"create database if not exists {schema}")
        unregistered.register(self._session, table.relation, table.place, managed=table.is_managed)

    # Data files --------------------------------------------------------------------------------

    def _of_files(self, table: Table) -> Iterator[str]:
        state = NeededFiles(self._session, table.place)
        bad = state.unusable()
        if not bad:
            return
        number = counted(len(bad), "data file")
        if table.is_tag:
            yield (
                f"{number} cannot be read, and a tag has no other version; accepted: a backup, or"
                " alluvium.untag"
            )
            return
        whole = self._without(table, state, bad)
        if whole is None:
            yield (
                f"{number} cannot be read ({findings.named(sorted(map(name_of, bad)))}), and no"
                " version that the log tells is without them; accepted: a backup of the files"
            )
            return
        version = whole.version
        undone = counted(state.version - version, "version")
        yield self._told(
            "goes back",
            f"to version {version}, the newest without {number} that cannot be read"
            f" ({findings.named(sorted(map(name_of, bad)))}); {undone} undone, with the progress of"
            " merges. The next build reads those events again",
        )
        self._moved[table.name] = version
        if self._does:
            message = f"alluvium.recover: back to version {version}; {number} cannot be read"
            SettingBack(state.snapshot, whole.snapshot).commit(message)
        if table.checkpoint is not None:
            yield from self._begin_again(table, "what it read is read again")

    def _without(self, table: Table, state: NeededFiles, bad: set[str]) -> NeededFiles | None:
        """The newest version all of whose files can be read; None where there is none."""
        left = set(bad)
        for commit in state.snapshot.commits():
            left -= touched(commit)
            if commit.is_gone or left or not commit.version:
                continue
            try:
                before = NeededFiles(self._session, table.place, commit.version - 1)
            except (PySparkException, Py4JError):
                return None
            left = before.unusable()
            if not left:
                return before
        return None

    def _of_vectors(self, table: Table) -> Iterator[str]:
        """Vectors in the log, which stop VACUUM; of a tag nobody deletes files."""
        state = NeededFiles(self._session, table.place)
        if not state.in_log:
            return
        number = counted(state.in_log, "deletion vector")
        yield self._told("puts", f"{number} of its log into files, so that VACUUM can read them")
        if self._does:
            InlineVectors(state.snapshot).mend(lambda base: _noted(table, base))

    # Where files lie ---------------------------------------------------------------------------

    def _of_paths(self, table: Table) -> Iterator[str]:
        state = NeededFiles(self._session, table.place)
        places = self._new_places(state)
        lost = sorted(old for old, new in places.items() if new is None)
        found = {old: new for old, new in places.items() if new is not None}
        if lost:
            yield (
                f"it shows files in {findings.named(lost)}: this is not a folder of this home, and"
                " did not come along. It is a clone of a table elsewhere, and left as it is"
            )
        if not found:
            return
        move = Relocation(self._session, table.by_path, found)
        missing = move.missing()
        if missing:
            self.left.append(table.name)
            yield (
                f"it shows files in {findings.named(sorted(found))}, of which"
                f" {counted(len(missing), 'file')} did not come along ({name_of(missing[0])});"
                " accepted: a copy of the whole home"
            )
            return
        yield self._told(
            "shows",
            f"the files of this home in place of those in {findings.named(sorted(found))}",
        )
        if self._does:
            move.commit("alluvium.recover: the files of this home")

    def _of_register(self, table: Table) -> Iterator[str]:
        """Let a vacuum know the tables of this home that show files of the table."""
        root = NeededFiles(self._session, table.place).root
        moved = []
        for one in dependents.noted(self._session, root):
            [new] = new_places(self._files, self._homes, [one.location]).values() or [None]
            if new is not None:
                moved.append((one, replace(one, location=new)))
        if not moved:
            return
        names = findings.named([str(one) for one, _ in moved])
        yield self._told("notes", f"where {names} lies now, which shows its files")
        if self._does:
            for old, now in moved:
                dependents.note(self._session, now, [root])
                dependents.forget(self._session, old, [root])

    def _new_places(self, state: NeededFiles) -> dict[str, str | None]:
        return new_places(self._files, self._homes, state.outside())

    # Published tables --------------------------------------------------------------------------

    def _of_published(self, table: Table, candidate: Table) -> Iterator[str]:
        state = NeededFiles(self._session, table.place)
        head = state.snapshot.head
        if head is None:
            return
        places = self._new_places(state)
        bad = state.unusable()
        # What passed its tests before stays, though its candidate goes back to what came later.
        then = self._moved.get(candidate.name)
        went_back = then is not None and head.version > then
        is_wrong = bool(places or bad or went_back)
        if not self._does and then is not None:
            if is_wrong:
                what = (
                    f"the newest version that readers saw, up to what {candidate.name} goes back to"
                )
                yield self._told("shows", what)
            return
        found = None if is_wrong else shown.of_head(self._session, table, candidate)
        if not is_wrong and found is None:
            return
        newest = NeededFiles(self._session, candidate.place).version
        last = newest if then is None else then
        version = shown.tested(self._session, table, candidate, last)
        untested = version is None and last < head.version
        if version is None:
            version = newest if untested else head.version
        why = (
            f"files in {findings.named(sorted(places))} are those of another home"
            if places
            else f"{counted(len(bad), 'data file')} cannot be read"
            if bad
            else f"{candidate.name} went back"
            if found is None
            else found.what
        )
        if untested:
            why += "; of the versions that readers saw none is left, so no test has seen this one"
        yield self._told("shows", f"version {version} of {candidate.name}: {why}")
        if self._does:
            self._show(table, candidate, version, head, bad)

    def _show(
        self, table: Table, candidate: Table, version: int, head: log.TableVersion, bad: set[str]
    ) -> None:
        """Publish a version where readers still see `head`; bad: files to write again."""
        publisher = Publisher(
            self._session,
            candidate.by_path,
            table.by_path,
            version,
            hides=table.hides,
            again=bad,
        )
        if publisher.head != head:
            raise ValueError("another run published meanwhile; accepted: the command again")
        if missing := publisher.missing():
            raise ValueError(
                f"{candidate.name} misses {counted(len(missing), 'file')}, such as {missing[0]}"
            )
        publisher.publish({"recovered": True})

    # Streams -----------------------------------------------------------------------------------

    def _of_stream(self, table: Table) -> Iterator[str]:
        found = streams.of_checkpoint(self._session, table)
        if found is not None and found.is_damage:
            yield from self._begin_again(
                table, f"{found.what}; the next run reads what the table does not have"
            )

    def _begin_again(self, table: Table, then: str) -> Iterator[str]:
        """Let the stream begin with what its table holds, and not with what it noted."""
        root = str(table.checkpoint)
        if not self._files.is_there(root):
            return
        aside = f"{root}.recovered-{self._stamp}"
        yield self._told("moves", f"its checkpoint to {aside}: {then}")
        if self._does:
            self._files.rename(root, aside)

    def _told(self, verb: str, what: str) -> str:
        """What was done, or what would be."""
        if self._does:
            return f"{verb} {what}"
        plain_verb = {"goes back": "go back"}.get(verb, verb[:-1])
        return f"would {plain_verb} {what}"


def _noted(table: Table, base: int) -> str:
    """What the commit of a mended table notes; of a published one, that it is no other writer's."""
    if table.shows is None:
        return "alluvium.recover: deletion vectors of the log are in files"
    return json.dumps({marks.PUBLISH_NOTE: {"recovered": True, "base": base}})
