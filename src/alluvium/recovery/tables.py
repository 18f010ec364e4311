"""The tables that are looked at: what the project says of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from alluvium.delta.refs import refs
from alluvium.delta.refs.dependents import relation
from alluvium.plan.recovery import findings
from alluvium.plan.recovery.findings import Finding


@dataclass(frozen=True)
class Table:
    """A table of the project.

    Attributes:
        name: of its model, for what is said.
        relation: as SQL writes it.
        place: its folder, a path or URI.
        model: the unique id of its model.
        is_registered: whether the metastore has it.
        is_half: whether it is registered so that its files stay when it is dropped, as a kill
            leaves it.
        is_managed: whether dropping it deletes its files.
        shows: the name of the candidate that it publishes; None for a table of its own.
        hides: whether what it publishes leaves out rows that are marked `_deleted`.
        checkpoint: folder of its stream's pointer; None for what reads no stream.
        is_tag: whether it only names a version of another table.
        events: names of the streaming tables whose events are merged into it.
        renamed: what it is called now, as SQL writes it; None where it has its name.
    """

    name: str
    relation: str
    place: str
    model: str
    is_registered: bool
    is_managed: bool = True
    is_half: bool = False
    shows: str | None = None
    hides: bool = True
    checkpoint: str | None = None
    is_tag: bool = False
    events: tuple[str, ...] = ()
    renamed: str | None = None

    @property
    def by_path(self) -> str:
        """As SQL names it, whether the metastore has it or not."""
        return relation(self.place)


def of_rename(table: Table, tables: Mapping[str, Table]) -> Finding | None:
    """That a table was renamed, or the candidate that it shows; None for neither.

    Its files are not lost: a look at them would say so.
    """
    if table.renamed is not None:
        return findings.renamed(table.relation, table.renamed)
    candidate = None if table.shows is None else tables[table.shows]
    if candidate is None or candidate.renamed is None:
        return None
    found = findings.renamed(candidate.relation, candidate.renamed)
    return replace(
        found, what=f"{candidate.name}, which it shows, was renamed, and is {candidate.renamed} now"
    )


def each(tables: Sequence[Table], say: Callable[[str], None]) -> Iterator[Table]:
    """Each table; `say` tells a line for it, while the work goes on."""
    for number, table in enumerate(tables, 1):
        say(f"{table.name} ({number} of {len(tables)})")
        yield table


def with_tags(session: SparkSession, tables: Iterable[Table]) -> Iterator[Table]:
    """The tables, and behind each its tags, which no metastore has."""
    for table in tables:
        yield table
        for tag in refs.tag_names(session, table.place):
            place = refs.tag_folder(table.place, tag)
            yield Table(f"{table.name} (tag {tag})", relation(place), place, "", True, is_tag=True)
