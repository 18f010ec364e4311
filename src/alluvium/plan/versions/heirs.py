"""Models that come in another's place: a rename keeps the table, and dbt's unique id is another."""

from __future__ import annotations

from collections.abc import Mapping

from alluvium.marks import MERGED_THROUGH, READ_FROM, SKIPPED
from alluvium.plan.versions.batches import read_from
from alluvium.wording import counted

# The progress of a model that another one took over.
GIVEN = -2


def formers(numbers: Mapping[str, int], table_id: str, model: str) -> list[str]:
    """The models that a table has merged batches of, where it has none of `model`.

    If it has of none, those whose events it leaves out, where it leaves out none of `model`.

    numbers: of the table's `txn` actions, by application; table_id: of the table as it is.
    """
    merged = [_merged_by(app, table_id) for app, number in numbers.items() if number >= 0]
    marked = [_left_out_of(app) for app, number in numbers.items() if number == 1]
    if model in merged:
        return []
    for found in (merged, marked):
        others = {one for one in found if one is not None and one != model}
        if others:
            return sorted(others)
        if model in marked:
            return []
    return []


def gave_away(numbers: Mapping[str, int], table_id: str, model: str) -> bool:
    """Whether another model took over the progress that a model had in a table."""
    return any(_merged_by(app, table_id) == model and one == GIVEN for app, one in numbers.items())


def carried(numbers: Mapping[str, int], table_id: str, former: str, model: str) -> dict[str, int]:
    """The `txn` actions by which a model goes on where a former one was, where they are not yet."""
    wanted = {
        app.replace(f"/{former}/", f"/{model}/", 1): number
        for app, number in numbers.items()
        if former in (_merged_by(app, table_id), _left_out_of(app))
    }
    due = {app: number for app, number in wanted.items() if numbers.get(app, -1) < number}
    bronze = numbers.get(read_from(former), -1)
    if due and bronze >= 0:
        due[read_from(model)] = bronze
    return due


def taken_over(
    numbers: Mapping[str, int], table_id: str, former: str, model: str
) -> dict[str, int]:
    """What is `carried`, and that the former model has nothing there any more."""
    left = {
        app: GIVEN if _left_out_of(app) is None else 0
        for app, number in numbers.items()
        if former in (_merged_by(app, table_id), _left_out_of(app))
    }
    left = {app: number for app, number in left.items() if numbers[app] > number}
    return {**carried(numbers, table_id, former, model), **left}


def said(due: Mapping[str, int]) -> str:
    """What of these `txn` actions goes on, in words."""
    apart = (SKIPPED, READ_FROM)
    through = [one for app, one in due.items() if one >= 0 and not app.startswith(apart)]
    marked = sum(one == 1 for app, one in due.items() if app.startswith(SKIPPED))
    found = [f"behind batch {through[0]:,}"] if through else []
    return ", ".join([*found, f"{counted(marked, 'mark')} of events that are left out"])


def _merged_by(app: str, table_id: str) -> str | None:
    """The model whose progress in this table an application id names; None for another."""
    model, _, named = app.removeprefix(MERGED_THROUGH).partition("/")
    is_progress = app.startswith(MERGED_THROUGH) and model.startswith("model.")
    return model if is_progress and named == table_id else None


def _left_out_of(app: str) -> str | None:
    """The model of which an application id leaves events out; None for another."""
    return app.removeprefix(SKIPPED).partition("/")[0] if app.startswith(SKIPPED) else None
