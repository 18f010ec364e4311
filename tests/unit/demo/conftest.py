"""One reading of the data for all tests."""

from collections.abc import Iterator
from functools import lru_cache

import pytest

from alluvium.demo import flights


@pytest.fixture(scope="package", autouse=True)
def _read_the_year_once() -> Iterator[None]:
    """Reading the year takes a second: keep the feeds of the last two sets of options."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flights, "_schedule", lru_cache(flights._schedule))
        patch.setattr(flights, "FlightsFeed", lru_cache(maxsize=2)(flights.FlightsFeed))
        yield
