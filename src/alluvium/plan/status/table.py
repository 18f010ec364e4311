"""A model's table as a look found it, and what the adapter noted of its last run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime

from alluvium.plan.snapshot import Snapshot
from alluvium.plan.versions.commit import Commit
from alluvium.wording import counted


@dataclass(frozen=True)
class FailedAudit:
    """A version of a candidate that failed its audit.

    Attributes:
        table_id, version: of the candidate, as its tests read it.
        tests: how many the audit has.
        failed: by name, how tests of it failed.
    """

    table_id: str
    version: int
    tests: int
    failed: dict[str, str]

    @property
    def count(self) -> str:
        """How many tests failed, and of how many."""
        return f"{len(self.failed):,} of {counted(self.tests, 'test')}"


@dataclass(frozen=True)
class NodeNote:
    """What the adapter noted as a node ended.

    Attributes:
        place: of its table; inside the home a path that begins there.
        table_id: None where there was no Delta table.
        at: when its last run ended.
        outcome: `success` or `error`.
        held_back: what its audit held back since, None for nothing.
    """

    place: str | None
    table_id: str | None
    at: datetime
    outcome: str
    held_back: FailedAudit | None = None


@dataclass(frozen=True)
class SeenTable:
    """A model's table.

    Attributes:
        name: of the model, as a person gives it to a command.
        unique_id: of the model.
        place: the folder of the table.
        snapshot: None where it was not read.
        problem: why not; None where there is no table yet.
        is_built: whether there is a table, or was one.
        unfinished: version of a commit that is being written.
        commits: gives the commits, newest first, as far back as the log has them.
        pinned: gives the names of files that other tables need at a time: of their newest versions,
            and within their own retention.
        tags, branches: by name, versions of this table; of branches where they began.
    """

    name: str
    unique_id: str
    place: str
    snapshot: Snapshot | None = None
    problem: str | None = None
    is_built: bool = True
    unfinished: int | None = None
    commits: Callable[[], Iterator[Commit]] = lambda: iter(())
    note: NodeNote | None = None
    pinned: Callable[[datetime], Set[str]] = lambda _: frozenset()
    tags: Mapping[str, int] = field(default_factory=dict)
    branches: Mapping[str, int] = field(default_factory=dict)
