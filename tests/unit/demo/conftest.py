"""The oracle is helper code of the tests: `from oracle.flights import …`."""

import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from alluvium.demo import flights

sys.path.insert(0, str(Path(__file__).parents[2]))


@pytest.fixture(scope="package", autouse=True)
def _read_the_year_once() -> Iterator[None]:
    """Reading the year takes a second: keep the feeds of the last two sets of options."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flights, "FlightsFeed", lru_cache(maxsize=2)(flights.FlightsFeed))
        yield
