"""The files of a table's log: which versions they give, what is wrong, and what to move away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from alluvium.plan.log_names import commit_name, versions_of
from alluvium.plan.recovery.findings import RECOVER, Finding
from alluvium.wording import counted

HINT = "_last_checkpoint"
_BACKUP = "a backup of the log"


@dataclass(frozen=True)
class LogCheckpoint:
    """A checkpoint of a log.

    Attributes:
        files: names of its parts.
        damage: why it cannot be read; None for a sound one.
    """

    version: int
    files: tuple[str, ...]
    damage: str | None = None


@dataclass(frozen=True)
class Hint:
    """The file that names the newest checkpoint.

    Attributes:
        version: of the checkpoint; None where it cannot be read.
    """

    version: int | None


@dataclass(frozen=True)
class Repair:
    """What makes a log readable again.

    Attributes:
        aside: names of the files that are moved away.
        version: the newest one afterwards.
        lost: the versions, first and last, that nobody can read any more; None for none.
    """

    aside: tuple[str, ...]
    version: int
    lost: tuple[int, int] | None


@dataclass(frozen=True)
class LogHealth:
    """What was found in the folder of a log.

    Attributes:
        names: of all files.
        commits: why each cannot be read, by version; None for a sound one.
        hint: None where there is no such file.
    """

    names: tuple[str, ...]
    commits: Mapping[int, str | None]
    checkpoints: Sequence[LogCheckpoint] = ()
    hint: Hint | None = None

    @property
    def newest(self) -> int:
        """The newest version that any file speaks of; -1 for none.

        A checksum is written behind its commit: it tells of one that is lost.
        """
        return max([-1, *(one for name in self.names for one in versions_of(name))])

    @property
    def sound(self) -> int | None:
        """The newest version that the files still give; None for none."""
        ends = [self._reach(start) for start in (-1, *self._bases)]
        return max((end for end in ends if end >= 0), default=None)

    @property
    def _bases(self) -> list[int]:
        """Versions of checkpoints to read from; Delta asks for a commit beside."""
        return [
            one.version
            for one in self.checkpoints
            if one.damage is None
            and any(self.commits.get(one.version + more, "missing") is None for more in (0, 1))
        ]

    def _reach(self, start: int) -> int:
        end = start
        while self.commits.get(end + 1, "missing") is None:
            end += 1
        return end

    @property
    def _base(self) -> int:
        """Where the newest sound version is read from: a checkpoint, or -1 for the first commit."""
        sound = self.sound
        return max((one for one in self._bases if sound is not None and one <= sound), default=-1)

    @property
    def _gaps(self) -> dict[int, str]:
        """Commits before the newest one that are missing or damaged, with what is wrong."""
        # What a cleanup deleted, a checkpoint stands for.
        first = min(self.commits) if self._bases else 0
        found = {}
        for version in range(first, self.newest + 1):
            if version not in self.commits:
                found[version] = "missing"
            elif (damage := self.commits[version]) is not None:
                found[version] = damage
        return found

    def findings(self) -> list[Finding]:
        """What is wrong with the log."""
        found = [*self._of_hint(), *self._of_checkpoints(), *self._of_commits()]
        if self.sound is None and not found:
            what = "the log begins with no first commit and no checkpoint"
            found.append(Finding(what, "no version can be read", _BACKUP))
        return found

    def _of_commits(self) -> Iterator[Finding]:
        sound, base = self.sound, self._base
        needed = {one: why for one, why in self._gaps.items() if sound is None or one > base}
        older = {one: why for one, why in self._gaps.items() if one not in needed}
        if older:
            lost = _span(min(older), max(min(older), base - 1))
            yield Finding(
                _of_what(older),
                f"the table is whole, for the checkpoint of version {base} is, but"
                f" {lost} cannot all be read",
                f"{RECOVER}, which moves the commits up to them aside",
                tuple(map(commit_name, older)),
            )
        if needed:
            means, helps = "no version can be read", _BACKUP
            if sound is not None:
                means = f"{_span(sound + 1, self.newest)} cannot be read, nor the table"
                helps = f"{_BACKUP}, or {RECOVER}, which goes back to version {sound}"
            yield Finding(_of_what(needed), means, helps, tuple(map(commit_name, needed)))

    def _of_hint(self) -> Iterator[Finding]:
        if self.hint is None:
            return
        known = {one.version for one in self.checkpoints}
        if self.hint.version is None:
            what = "the file that names the newest checkpoint cannot be read"
        elif self.hint.version not in known:
            what = f"it names the checkpoint of version {self.hint.version}, which is not there"
        else:
            return
        means = "Delta looks through the whole log instead, and other engines may fail"
        yield Finding(what, means, f"{RECOVER}, which moves it aside", (HINT,))

    def _of_checkpoints(self) -> Iterator[Finding]:
        for one in self.checkpoints:
            if one.damage is None:
                continue
            others = LogHealth(
                self.names,
                self.commits,
                [other for other in self.checkpoints if other.version != one.version],
            )
            if others.sound == self.newest:
                means = "nothing is lost, for older files of the log tell the same"
                helps = f"{RECOVER}, which moves it aside"
            elif others.sound is None:
                means, helps = "no version can be read", _BACKUP
            else:
                means = f"{_span(others.sound + 1, self.newest)} cannot be read"
                helps = f"{_BACKUP}, or {RECOVER}, which goes back to version {others.sound}"
            what = f"the checkpoint of version {one.version} {one.damage}"
            yield Finding(what, means, helps, one.files)

    def repair(self) -> Repair | None:
        """What to move away so that the log reads; None where nothing is wrong.

        Raises:
            ValueError: no version can be read any more.
        """
        if not self.findings():
            return None
        sound, base = self.sound, self._base
        if sound is None:
            raise ValueError("no file of the log gives a version; accepted: a backup of the log")
        history = max((one for one in self._gaps if one <= base), default=-1)
        damaged = {name for one in self.checkpoints if one.damage for name in one.files}
        aside = {
            name
            for name in self.names
            if name in damaged or any(one > sound or one <= history for one in versions_of(name))
        }
        kept = {one.version for one in self.checkpoints if not aside & set(one.files)}
        if self.hint is not None and self.hint.version not in kept:
            aside.add(HINT)
        lost = (sound + 1, self.newest) if sound < self.newest else None
        return Repair(tuple(sorted(aside)), sound, lost)


def _of_what(commits: Mapping[int, str]) -> str:
    whys = " or ".join(sorted(set(commits.values())))
    return f"{counted(len(commits), 'commit')} {whys}"


def _span(first: int, last: int) -> str:
    if first == last:
        return f"version {first}"
    return f"versions {first} to {last} ({counted(last - first + 1, 'version')})"
