"""Make a table the candidate of a published one: under another name, with its progress."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta import dependents, inherited, log, unregistered
from alluvium.delta.needed_files import forget
from alluvium.engine.files import Files
from alluvium.names import quoted
from alluvium.plan.versions import heirs


@dataclass(frozen=True)
class Adoption:
    """The tables and the model of before and after.

    Attributes:
        schema: of both tables.
        table, candidate: names of the table, before and after.
        model, candidate_model: dbt's unique ids.
    """

    schema: str
    table: str
    candidate: str
    model: str
    candidate_model: str

    def renames(self) -> list[tuple[str, str]]:
        """Tables and their new names; the one of rejected events is not always there."""
        return [
            (self.table, self.candidate),
            (f"{self.table}__rejected", f"{self.candidate}__rejected"),
        ]


def adopt(session: SparkSession, adoption: Adoption, *, dry_run: bool) -> list[str]:
    """Rename the table and its rejected events, and let the new model go on where the old one was.

    Progress comes first: it counts for nobody until the new model is there. After a kill the same
    call does what is left.

    Returns what was done, or would be done.

    Raises:
        ValueError: the table cannot be adopted. Nothing was changed.
    """
    due = [
        (old, new)
        for old, new in adoption.renames()
        if session.catalog.tableExists(_name(adoption.schema, old))
    ]
    table = adoption.table
    if not due or due[0][0] != adoption.table:
        # Nothing but an adoption that was killed leaves its own progress under the new name.
        table = adoption.candidate
        if not _is_begun(session, adoption):
            raise ValueError(
                f"there is no table {adoption.schema}.{adoption.table}; accepted: a model that was"
                " built"
            )
    for old, new in due:
        _check(session, adoption.schema, old, new)
    carried = _progress(session, adoption, table)
    said = []
    if carried:
        mine = f"{marks.MERGED_THROUGH}{adoption.candidate_model}/"
        through = [number for app, number in carried.items() if app.startswith(mine)]
        what = f"progress through batch {max(through):,}" if through else "what is noted of batches"
        said.append(f"{what} to {adoption.candidate_model}")
        if not dry_run:
            log.commit_transactions(session, _name(adoption.schema, table), carried)
    for old, new in due:
        said.append(f"{adoption.schema}.{old} to {adoption.schema}.{new}")
        if not dry_run:
            _rename(session, adoption.schema, old, new)
    if not dry_run:
        # Another run may have merged between both. From now on the old model has nothing there.
        candidate = _name(adoption.schema, adoption.candidate)
        inherited.take_over(session, candidate, adoption.model, adoption.candidate_model)
    return said


def _name(schema: str, table: str) -> str:
    return f"{quoted(schema)}.{quoted(table)}"


def _is_begun(session: SparkSession, adoption: Adoption) -> bool:
    name = _name(adoption.schema, adoption.candidate)
    if not session.catalog.tableExists(name):
        return False
    try:
        table_id, versions = log.state(session, name)
    except PySparkException:  # a view, or no table of Delta's
        return False
    return f"{marks.MERGED_THROUGH}{adoption.candidate_model}/{table_id}" in versions


def _progress(session: SparkSession, adoption: Adoption, table: str) -> dict[str, int]:
    """What the new model's `txn` actions are to be, where they are not yet."""
    found = log.state(session, _name(adoption.schema, table))
    return heirs.carried(found[1], found[0], adoption.model, adoption.candidate_model)


def _check(session: SparkSession, schema: str, old: str, new: str) -> None:
    """Raises ValueError where a rename would lose something, or hide it."""
    name = _name(schema, old)
    described = session.sql(f"describe table extended {name}").collect()
    about = {row.col_name: row.data_type for row in described}
    if about.get("Type") == "VIEW" or str(about.get("Provider")).lower() != "delta":
        raise ValueError(f"{schema}.{old} is not a Delta table; accepted: an incremental one")
    if session.catalog.tableExists(_name(schema, new)):
        raise ValueError(
            f"{schema}.{new} is there already; accepted: to rename or drop it, if it is not needed"
        )
    place = log.folder(session, name)
    if about.get("Type") != "MANAGED":
        raise ValueError(
            f"{schema}.{old} lies in {place}, which a rename would not move; accepted: a managed"
            " table"
        )
    after = unregistered.default_location(session, schema, new)
    if Files(session).is_there(after):
        raise ValueError(
            f"{after} is there already, where {schema}.{new} is going to lie; accepted: to move"
            " that folder away"
        )
    living = dependents.living(session, place)
    if living:
        raise ValueError(
            f"{schema}.{old}: {', '.join(map(str, living))} read its files by their paths, which a"
            " rename changes; accepted: to drop them first"
        )


def _rename(session: SparkSession, schema: str, old: str, new: str) -> None:
    before = log.folder(session, _name(schema, old))
    session.sql(f"alter table {_name(schema, old)} rename to {_name(schema, new)}")
    # Delta keeps what it read of a folder, in which the published table is going to lie.
    forget(session, before)
