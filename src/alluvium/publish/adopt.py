"""Make a table the candidate of a published one: under another name, with its progress."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.log import inherited, log
from alluvium.delta.refs import dependents, unregistered
from alluvium.delta.refs.dependents import LOG, relation
from alluvium.delta.refs.needed_files import forget
from alluvium.engine import metastore
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
        # Spark's own answer is an error where a kill left the files under the new name.
        if metastore.table(session, adoption.schema, old) is not None
    ]
    half = {new: _half_renamed(session, adoption.schema, old, new) for old, new in due}
    table = _name(adoption.schema, adoption.table)
    if not due or due[0][0] != adoption.table:
        # Nothing but an adoption that was killed leaves its own progress under the new name.
        table = _name(adoption.schema, adoption.candidate)
        if not _is_begun(session, adoption):
            raise ValueError(
                f"there is no table {adoption.schema}.{adoption.table}; accepted: a model that was"
                " built"
            )
    elif (moved := half[adoption.candidate]) is not None:
        table = relation(moved)
    for old, new in due:
        if half[new] is None:
            _check(session, adoption.schema, old, new)
    models = adoption.model, adoption.candidate_model
    if dry_run:
        table_id, numbers = log.state(session, table)
        carried = heirs.carried(numbers, table_id, *models)
    else:
        carried = inherited.take_over(session, table, *models, leaves=True)
    said = []
    if carried:
        mine = f"{marks.MERGED_THROUGH}{adoption.candidate_model}/"
        through = [number for app, number in carried.items() if app.startswith(mine)]
        what = f"progress through batch {max(through):,}" if through else "what is noted of batches"
        said.append(f"{what} to {adoption.candidate_model}")
    said += [f"{adoption.schema}.{old} to {adoption.schema}.{new}" for old, new in due]
    if not dry_run:
        # The table itself comes last: under its old name the next call finds it.
        for old, new in reversed(due):
            _rename(session, adoption.schema, old, new, half[new])
        # Another run may have merged between both. From now on the old model has nothing there.
        candidate = _name(adoption.schema, adoption.candidate)
        inherited.take_over(session, candidate, *models)
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


def _half_renamed(session: SparkSession, schema: str, old: str, new: str) -> str | None:
    """Where the files of a table are under its new name while the catalog has the old one.

    The metastore moves the folder first: so a kill leaves it. None for a table that is whole.
    """
    found, files = metastore.table(session, schema, old), Files(session)
    if found is None or found.location is None or files.is_there(f"{found.location}/{LOG}"):
        return None
    after = unregistered.default_location(session, schema, new)
    return after if files.is_there(f"{after}/{LOG}") else None


def _rename(session: SparkSession, schema: str, old: str, new: str, moved: str | None) -> None:
    """moved: as `_half_renamed` gives it."""
    name, after = _name(schema, old), _name(schema, new)
    if moved is None:
        before = log.folder(session, name)
        session.sql(f"alter table {name} rename to {after}")
    else:
        before = unregistered.default_folder(session, schema, old)
        # The old entry goes last, by which the next call sees what is left to do.
        unregistered.enter(session, after, moved)
        unregistered.unregister(session, name)
    # Delta keeps what it read of a folder, in which the published table is going to lie.
    forget(session, before)
