"""The zone of this process while dbt runs: UTC, as Spark's is.

PySpark gives Python an instant as the process's own clock shows it. That holds for rows of
`collect`, also in structs and arrays, and for what `createDataFrame` reads.
"""

from __future__ import annotations

import os
import threading
import time

_KEY, _UTC = "TZ", "UTC"
_guard = threading.Lock()
# What `use_utc` found, in a list: None stands for no setting at all.
_before: list[str | None] = []


def use_utc() -> None:
    """Let this process, and the processes that it starts, have UTC for their zone."""
    with _guard:
        if os.environ.get(_KEY) != _UTC:
            _before[:] = [os.environ.get(_KEY)]
            os.environ[_KEY] = _UTC
            time.tzset()


def give_back() -> None:
    """Put the zone back that `use_utc` replaced: a scheduler may run dbt in its own process."""
    with _guard:
        if _before and os.environ.get(_KEY) == _UTC:
            (zone,) = _before
            if zone is None:
                del os.environ[_KEY]
            else:
                os.environ[_KEY] = zone
            time.tzset()
        _before.clear()
