"""Hypothesis profiles; the default run takes Hypothesis' own `ci`, the same examples every time."""

import os
from pathlib import Path

import pytest
from hypothesis import settings
from support import cpu

# For the full run: new examples each time, and the line that reproduces a failure.
settings.register_profile(
    "search",
    settings.get_profile("ci"),
    derandomize=False,
    print_blob=True,
    database=settings.get_profile("default").database,
)


def pytest_configure(config: pytest.Config) -> None:
    is_controller = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if (path := os.environ.get("TEST_CPU")) and not is_controller:
        config.pluginmanager.register(cpu.Seconds(Path(path).absolute()))
