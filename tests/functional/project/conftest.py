"""The reference project on a home and a Spark context that all tests here share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from functional.project.reference import Reference, copy_repository

from alluvium.demo.flights import Delivery, replay_flights

_names = itertools.count(1)
Feed = Callable[..., list[Path]]


@pytest.fixture(scope="session", autouse=True)
def _no_usage_stats() -> Iterator[None]:
    """The repository's own dbt_project.yml leaves them to the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBT_SEND_ANONYMOUS_USAGE_STATS", "false")
        yield


@pytest.fixture(scope="session")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Feed:
    """`replayed(days)`: the landing files of the feed's first days, in order of arrival."""
    landed: dict[int, list[Path]] = {}

    def replay(days: int) -> list[Path]:
        if days not in landed:
            folder = tmp_path_factory.mktemp("replayed")
            replay_flights(folder, days, None, Delivery())
            landed[days] = sorted((folder / "flights").rglob("*.jsonl"))
        return landed[days]

    return replay


@pytest.fixture(scope="session")
def make_reference(
    home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Reference]:
    def make(**profile: object) -> Reference:
        number = next(_names)
        root = tmp_path_factory.mktemp("reference", numbered=True)
        project = Reference(root, home, f"reference{number}")
        copy_repository(project.root)
        project.profile(**profile)
        return project

    return make
