"""Events that are left out of a model for good, by batch or file, as its table's log says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from alluvium.marks import SKIPPED

# All events of a batch, or those of one `_source_partition`.
Events = tuple[int, str | None]


def app_id(model: str, events: Events) -> str:
    """Application id of the `txn` action that says whether a model leaves events out."""
    batch, file = events
    return f"{SKIPPED}{model}/{batch}" + ("" if file is None else f"/{file}")


def left_out(numbers: Mapping[str, int], model: str) -> set[Events]:
    """The events that a model leaves out.

    numbers: of the `txn` actions of its table, by application id; model: dbt's unique id.
    """
    prefix = f"{SKIPPED}{model}/"
    named = [
        app.removeprefix(prefix).partition("/")
        for app, number in numbers.items()
        if app.startswith(prefix) and number == 1
    ]
    return {(int(batch), file if slash else None) for batch, slash, file in named}


def changes(so_far: Set[Events], events: Iterable[Events], skip: bool) -> list[Events]:
    """The events that stay out from now on, or no longer; nothing of those of which it is so.

    A batch that comes in does so with each of its files.

    Args:
        so_far: those that are left out.
        skip: whether these are to stay out.

    Raises:
        ValueError: a file is to come in, and all of its batch stays out.
    """
    asked = list(events)
    if skip:
        return [one for one in asked if not {one, (one[0], None)} & so_far]
    for batch, file in asked:
        if file is not None and (batch, None) in so_far:
            raise ValueError(
                f"batch {batch} is left out as a whole, {file} with it; accepted: `skip: false`"
                " without `files`, then `skip: true` with the files that stay out"
            )
    whole = {batch for batch, file in asked if file is None}
    of_files = [one for one in files(so_far) if one[0] in whole]
    return [one for one in dict.fromkeys([*asked, *of_files]) if one in so_far]


def batches(events: Iterable[Events]) -> list[int]:
    """The batches that are left out as a whole, rising."""
    return sorted(batch for batch, file in events if file is None)


def files(events: Iterable[Events]) -> list[tuple[int, str]]:
    """The `_source_partition`s of batches that are left out, by rising batches."""
    return sorted((batch, file) for batch, file in events if file is not None)
