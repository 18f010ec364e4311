"""Which nodes this invocation was asked for: `selected_resources`, as macros see it.

dbt sets it where it selects nodes. `dbt retry` selects none, and a run-operation neither: in a
process that ran another command before, macros would see that one's.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from dbt import selected_resources
from dbt.constants import RUN_RESULTS_FILE_NAME
from dbt.contracts.state import load_result_state
from dbt.flags import get_flags
from dbt.task.retry import RETRYABLE_STATUSES
from dbt_common.invocation import get_invocation_id

from dbt.adapters.alluvium.audit import Passed, passes
from dbt.adapters.alluvium.noting import write

# Beside run_results.json, which has of a retry only what that ran: what passed before it.
_PASSED = "alluvium_passed.json"


def begin(config: Any) -> bool:
    """Forget the selection of the command before; of `dbt retry`, know what it runs again.

    Args:
        config: the project's, as dbt gives it to the adapter.

    Returns:
        Whether the command is `dbt retry`.
    """
    context = click.get_current_context(silent=True)
    if context is None or context.info_name != "retry":
        selected_resources.set_selected_resources(set())
        return False
    again = {str(status) for status in RETRYABLE_STATUSES}
    before = load_result_state(_taken_up(config) / RUN_RESULTS_FILE_NAME)
    results = before.results if before is not None else ()
    selected_resources.set_selected_resources(
        {result.unique_id for result in results if str(result.status) in again}
    )
    return True


def is_asked_for(unique_id: str) -> bool:
    """Whether this command runs a node."""
    return unique_id in selected_resources.SELECTED_RESOURCES


def passed_before(config: Any) -> set[Passed]:
    """Tests that passed in the commands that `dbt retry` takes up: a build, and its retries."""
    folder = _taken_up(config)
    before = load_result_state(folder / RUN_RESULTS_FILE_NAME)
    if before is None:
        return set()
    carried = list[Passed]()
    with suppress(OSError, ValueError, KeyError, TypeError):  # it was no retry itself
        noted = json.loads((folder / _PASSED).read_text(encoding="utf-8"))
        # dbt may begin a retry twice, and close connections in between.
        if noted["invocation"] in (before.metadata.invocation_id, get_invocation_id()):
            carried = [(test, table, version) for test, table, version in noted["passed"]]
    return passes(before.results, carried)


def carry(config: Any, before: set[Passed]) -> None:
    """Note for the next retry what passed before this one."""
    if before and get_flags().WRITE_JSON:
        noted = {"invocation": get_invocation_id(), "passed": sorted(before)}
        write(Path(config.project_root) / config.target_path / _PASSED, json.dumps(noted))


def _taken_up(config: Any) -> Path:
    """The folder of what `dbt retry` takes up."""
    context = click.get_current_context(silent=True)
    state = context.params.get("state") if context is not None else None
    return Path(config.project_root) / (state or config.target_path)
