"""Hypothesis profiles, what a run costs, shards, and an S3 server.

The default run takes Hypothesis' own profile `ci`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from support import cost, cpu, s3

# For the full run: new examples each time, and the line that reproduces a failure.
settings.register_profile(
    "search",
    settings.get_profile("ci"),
    derandomize=False,
    print_blob=True,
    database=settings.get_profile("default").database,
)
# A worker has a Spark of up to 3 GB, and as much again for what its tests start.
_WORKER_BYTES = 4 << 30


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shard", help="2/4: of the slow tests' files the second quarter")
    parser.addoption("--write-costs", action="store_true", help="renew tests/cost.json")


def pytest_configure(config: pytest.Config) -> None:
    if not cpu.CAN_BE_NOTED:
        return
    is_worker = hasattr(config, "workerinput")
    if is_worker or not config.getoption("numprocesses", None):
        config.pluginmanager.register(cpu.notes)
    if not is_worker:
        config.pluginmanager.register(cost.Costs(config.getoption("write_costs")))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (text := config.getoption("shard")) is None:
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    try:
        files = cost.shard_of(text, {_file_of(item) for item in slow})
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    kept = [item for item in slow if _file_of(item) in files]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


@pytest.fixture(scope="module")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[s3.S3]:
    """An S3 server of the module's own, with empty buckets."""
    try:
        with s3.server(tmp_path_factory.mktemp("s3"), "lake", "pond", "off") as running:
            yield running
    except s3.MissingError as missing:
        pytest.skip(str(missing))


def pytest_xdist_auto_num_workers() -> int:
    """As many workers as cores and memory allow."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(os.cpu_count() or 1, memory // _WORKER_BYTES))


def _file_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
