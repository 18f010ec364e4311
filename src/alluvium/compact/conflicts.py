"""Other writers that were faster: a compaction gives up that piece of work, and goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from py4j.protocol import Py4JJavaError

from alluvium.delta.log.concurrency_errors import OTHER_ROWS, OTHER_TABLE, log_is_gone

_log = logging.getLogger(__name__)
Made = TypeVar("Made")


def none_on_conflict(model: str, action: Callable[[], Made]) -> Made | None:
    """What the action makes; None if another writer was faster.

    Args:
        model: what the table is called in messages.
    """
    try:
        return action()
    except (*OTHER_ROWS, *OTHER_TABLE) as error:
        _log.info("%s: another writer was faster: %s", model, str(error).splitlines()[0])
    except Py4JJavaError as error:
        if not log_is_gone(error):
            raise
        _log.info("%s: another writer has cleaned up the log of the version that was read", model)
    return None
