"""Which nodes this invocation was asked for: `selected_resources`, as macros see it.

dbt sets it where it selects nodes. `dbt retry` selects none, and a run-operation neither: in a
process that ran another command before, macros would see that one's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from dbt import selected_resources
from dbt.constants import RUN_RESULTS_FILE_NAME
from dbt.contracts.state import load_result_state
from dbt.task.retry import RETRYABLE_STATUSES


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
    selected_resources.set_selected_resources(
        {result.unique_id for result in results_before(config) if str(result.status) in again}
    )
    return True


def is_asked_for(unique_id: str) -> bool:
    """Whether this command runs a node."""
    return unique_id in selected_resources.SELECTED_RESOURCES


def results_before(config: Any) -> Sequence[Any]:
    """What `dbt retry` takes up: the results of the command before."""
    context = click.get_current_context(silent=True)
    state = context.params.get("state") if context is not None else None
    folder = Path(config.project_root) / (state or config.target_path)
    before = load_result_state(folder / RUN_RESULTS_FILE_NAME)
    return before.results if before is not None else []
