"""A cluster for a module's tests, and a project that runs on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from functional.placed import PlacedProject
from support import cluster, postgres, quick_java, s3
from support.cluster import Cluster

from alluvium.engine import session as engine


@contextmanager
def started(shares_disk: bool = False) -> Iterator[Cluster]:
    """The servers; skips where this machine has not what they need."""
    try:
        with cluster.running(shares_disk, quick_java.of_daemons()) as found:
            engine.stop()  # of other tests, which have another context
            yield found
    except (postgres.MissingError, s3.MissingError) as missing:
        pytest.skip(str(missing))


@contextmanager
def running_on(servers: Cluster, made: PlacedProject) -> Iterator[PlacedProject]:
    """A project in an environment that names these servers."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in servers.environment.items():
            patch.setenv(name, value)
        patch.setenv("ALLUVIUM_HOME", str(made.home))
        patch.setenv("ALLUVIUM_SCHEMA", "shop")
        yield made
        engine.stop()
