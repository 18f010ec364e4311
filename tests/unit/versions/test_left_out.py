"""Which events stay out, by batch or file."""

from __future__ import annotations

import pytest

from alluvium.plan.versions.left_out import Events, changes

BATCH: Events = (3, None)
ONE: Events = (3, "one")
TWO: Events = (3, "two")
LATER: Events = (4, "one")


@pytest.mark.parametrize(
    ("so_far", "events", "skip", "expected"),
    [
        (set(), [BATCH], True, [BATCH]),
        ({ONE}, [BATCH], True, [BATCH]),
        ({ONE}, [ONE, TWO], True, [TWO]),
        # With its batch it is out already.
        ({BATCH}, [ONE, LATER], True, [LATER]),
        ({BATCH}, [BATCH], True, []),
        ({ONE, LATER}, [ONE, TWO], False, [ONE]),
        # A batch comes in with each of its files.
        ({BATCH, ONE, LATER}, [BATCH], False, [BATCH, ONE]),
        ({TWO, ONE}, [BATCH], False, [ONE, TWO]),
        ({LATER}, [BATCH], False, []),
    ],
)
def test_what_changes(
    so_far: set[Events], events: list[Events], skip: bool, expected: list[Events]
) -> None:
    assert changes(so_far, events, skip) == expected


def test_a_file_of_a_batch_that_is_out_does_not_come_in_alone() -> None:
    with pytest.raises(ValueError, match="batch 3 is left out as a whole, two with it"):
        changes({BATCH, ONE}, [LATER, TWO], False)
