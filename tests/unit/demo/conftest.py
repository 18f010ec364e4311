"""One reading of the data for all tests, and less of it for what does not depend on how much."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pandas as pd
import pytest
from oracle import runways as oracle

from alluvium.demo import edits, flights, runways

# Versions that change a few runways: these are all kept.
SMALL_VERSIONS = (1006, 1007, 1010)


@pytest.fixture(scope="package", autouse=True)
def _read_once() -> Iterator[None]:
    """Reading the year takes a second: keep the feeds of the last two sets of options."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flights, "_schedule", lru_cache(flights._schedule))
        patch.setattr(flights, "FlightsFeed", lru_cache(maxsize=2)(flights.FlightsFeed))
        patch.setattr(edits, "read_edits", lru_cache(edits.read_edits))
        patch.setattr(edits, "edits_lines", lru_cache(maxsize=2)(edits.edits_lines))
        yield


@pytest.fixture(scope="session")
def month() -> pd.DataFrame:
    whole = flights._schedule(flights.flights_file())
    return whole[whole["month"] == 1].reset_index(drop=True)


@pytest.fixture
def january(month: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """The feed `flights` of one month: a twelfth of the events, landed as those of the year are."""
    of_january(month, monkeypatch)


def of_january(month: pd.DataFrame, patch: pytest.MonkeyPatch) -> None:
    kept = flights.FlightsFeed
    patch.setattr(flights, "_schedule", lambda path: month)
    # Apart from the feeds of the year that are kept.
    patch.setattr(flights, "FlightsFeed", lru_cache(getattr(kept, "__wrapped__", kept)))


@pytest.fixture(scope="session")
def few_runways(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the data of one of 40 runways: all versions of the feed, and each operation."""
    folder = tmp_path_factory.mktemp("few") / "data"
    folder.mkdir()
    every = pd.read_parquet(oracle.FILE)
    small = every.loc[every["version"].isin(SMALL_VERSIONS), "id"]
    chosen = (every["id"] % 40 == 0) | every["id"].isin(small)
    every[chosen].to_parquet(folder / oracle.FILE.name, index=False)
    return folder.parent


@pytest.fixture(params=[pytest.param("all", marks=pytest.mark.slow), "few"])
def amount(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How many runways the test sees."""
    if request.param == "few":
        folder: Path = request.getfixturevalue("few_runways")
        monkeypatch.setattr(oracle, "FILE", folder / "data" / oracle.FILE.name)
        monkeypatch.setattr(runways, "files", {"alluvium.demo": folder}.__getitem__)
    found: str = request.param
    return found
