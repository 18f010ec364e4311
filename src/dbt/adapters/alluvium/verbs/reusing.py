"""Reuse: data tests whose query is left out, for it would read what it read before."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dbt.adapters.contracts.connection import AdapterResponse
from dbt.flags import get_flags

from alluvium.plan.reuse import FOLDER
from alluvium.plan.status import notes
from alluvium.wording import counted
from dbt.adapters.alluvium import reuse, told
from dbt.adapters.alluvium.reuse import Asked, Kept
from dbt.adapters.alluvium.verbs.checking import Checking
from dbt.adapters.alluvium.verbs.holding_back import partial

if TYPE_CHECKING:
    import agate


class Reusing(Checking):
    # Of each test that asked, whether it was kept; all threads append.
    _asked: list[bool]

    def begin_reuse(self) -> None:
        """Forget the command before."""
        self._asked = []
        for name in ("_is_switched_off", "_other_tests"):
            self.__dict__.pop(name, None)

    @cached_property
    def _is_switched_off(self) -> bool:
        return self.given_vars().get(reuse.META) is False

    @cached_property
    def _other_tests(self) -> str | None:
        """Whose materialization runs the tests, where it is not dbt's: it may do anything."""
        project: Any = self._macro_resolver
        found = project.find_materialization_macro_by_name(
            self.config.project_name, "test", self.type()
        )
        if found is None or found.package_name == "dbt":
            return None
        return f"{found.package_name} has a materialization `test` of its own"

    def ask_for_reuse(self, test: Any) -> None:
        """Let a data test be kept that asks for it, from here to its end."""
        if (test.config.meta or {}).get(reuse.META) is not True or self._is_switched_off:
            return
        flags, config, why = get_flags(), test.config, None
        stores = config.store_failures
        if flag := partial():
            why = f"{flag} builds tables with a part of their rows"
        elif self._other_tests is not None:
            why = self._other_tests
        elif flags.STORE_FAILURES if stores is None else stores:
            why = "it stores its failures"
        is_noted = why is None
        if is_noted and flags.FULL_REFRESH:
            why = "--full-refresh"
        path = self._home / FOLDER / notes.file_name(f"{test.schema}.{test.unique_id}")
        self._handle.asked = Asked(test.unique_id, path, why, is_noted)

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, agate.Table]:
        """As dbt does; of a test that is kept, what its query gave before."""
        asked = self._handle.asked if fetch and limit is None else None
        if not isinstance(asked, Asked):
            return super().execute(sql, auto_begin, fetch, limit)
        handle = self._handle
        found = asked.look(handle, sql)
        self._asked.append(isinstance(found, Kept))
        if isinstance(found, Kept):
            return found.response, found.table
        response, table = super().execute(sql, auto_begin, fetch, limit)
        return replace(response, not_kept=asked.note(handle, sql, table) or found), table

    def tell_reuse(self) -> None:
        """Say how many tests were kept, behind the run."""
        asked, self._asked = getattr(self, "_asked", []), []
        if asked:
            why = "" if self._other_tests is None else f": {self._other_tests}"
            told.say(f"kept {sum(asked):,} of {counted(len(asked), 'test')}{why}")
