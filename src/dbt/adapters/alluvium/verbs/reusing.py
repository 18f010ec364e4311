"""Reuse: nodes whose statement is left out, for it would read what it read before."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import available
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.flags import get_flags

from alluvium.plan.reuse import FOLDER
from alluvium.plan.status import notes
from alluvium.wording import counted
from dbt.adapters.alluvium import reuse, told
from dbt.adapters.alluvium.figures import ModelResponse
from dbt.adapters.alluvium.relation import AlluviumRelation
from dbt.adapters.alluvium.reuse import AskedTable, AskedTest, KeptAnswer
from dbt.adapters.alluvium.verbs.checking import Checking
from dbt.adapters.alluvium.verbs.holding_back import HoldingBack, partial

if TYPE_CHECKING:
    import agate


class Reusing(Checking, HoldingBack):
    # Of each node that asked, whether it was kept; all threads append.
    _asked: list[bool]

    def begin_reuse(self) -> None:
        """Forget the command before."""
        self._asked = []
        for name in ("_is_switched_off", "_other_tests", "_around_all"):
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

    @cached_property
    def _around_all(self) -> dict[str, str]:
        """Digests of what all tables of the project are made by."""
        macros: Any = self._macro_resolver
        flags = reuse.of_flags(vars(get_flags()))
        return {"a macro": reuse.of_macros(macros.macros), "a flag of dbt": flags}

    def ask_for_reuse(self, node: Any) -> None:
        """Let a node be kept that asks for it, from here to its end."""
        is_test = node.resource_type == "test"
        asks = (getattr(node.config, "meta", None) or {}).get(reuse.META) is True
        if not asks or self._is_switched_off or not (is_test or reuse.is_table(node)):
            return
        why = self._why_not_noted(node)
        again = why or self._why_not_kept(node)
        if is_test:
            path = self._home / FOLDER / notes.file_name(f"{node.schema}.{node.unique_id}")
            self._handle.asked = AskedTest(node.unique_id, again, why is None, path)
            return
        is_seed, root = node.resource_type == "seed", self.root_of(node.package_name)
        file = root / node.original_file_path if is_seed and root is not None else None
        self._handle.asked = AskedTable(
            *(node.unique_id, again, why is None),
            table=self.table_of(node),
            made_by=lambda: {**reuse.of_table(node, file), **self._around_all},
            is_seed=is_seed,
        )

    def _why_not_noted(self, node: Any) -> str | None:
        """Why a node is neither kept nor noted, whatever it reads."""
        if flag := partial():
            return f"{flag} builds tables with a part of their rows"
        if node.resource_type != "test":
            if node.unique_id in self._candidates:
                return "a published model shows it"
            return None if node.config.get("file_format") == "delta" else "it is not a Delta table"
        stores = node.config.store_failures
        stores = get_flags().STORE_FAILURES if stores is None else stores
        return self._other_tests or ("it stores its failures" if stores else None)

    @staticmethod
    def _why_not_kept(node: Any) -> str | None:
        """Why a node is not kept in this command."""
        flags, is_test = get_flags(), node.resource_type == "test"
        if flags.FULL_REFRESH:
            return "--full-refresh"
        if not is_test and node.config.get("full_refresh"):
            return "its config has full_refresh"
        if not is_test and flags.STORE_FAILURES:
            return "--store-failures"
        return "--show" if not is_test and getattr(flags, "SHOW", False) else None

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, agate.Table]:
        """As dbt does; of a test that is kept, what its query gave before."""
        asked = self._handle.asked
        if isinstance(asked, AskedTable):
            asked.saw(self._handle)
            done = super().execute(sql, auto_begin, fetch, limit)
            asked.saw(self._handle, sql)
            return done
        if not isinstance(asked, AskedTest) or not fetch or limit is not None:
            return super().execute(sql, auto_begin, fetch, limit)
        handle = self._handle
        found = asked.look(handle, sql)
        self._asked.append(isinstance(found, KeptAnswer))
        if isinstance(found, KeptAnswer):
            return found.response, found.table
        response, table = super().execute(sql, auto_begin, fetch, limit)
        return replace(response, not_kept=asked.note(handle, sql, table) or found), table

    @available.parse_none
    def kept_as_built(self, existing: AlluviumRelation | None) -> ModelResponse | None:
        """What dbt is told of the table of this node where it stays; None where it is built.

        existing: what is there under its name; None for nothing.
        """
        asked = self._handle.asked
        if not isinstance(asked, AskedTable):
            return None
        with self._working():
            found = asked.look(self._handle, existing is not None)
        self._asked.append(not isinstance(found, str))
        if isinstance(found, str):
            asked.why_not = found
            return None
        self._handle.asked = None
        return found

    @available.parse_none
    def note_built(self, response: AdapterResponse) -> None:
        """Note how the table of this node was built, behind all that follows its statement.

        response: of the statement; it gets why the table is not kept.
        """
        asked, self._handle.asked = self._handle.asked, None
        if isinstance(asked, AskedTable) and isinstance(response, ModelResponse):
            with self._working():
                response.not_kept = asked.note(self._handle) or asked.why_not

    def tell_reuse(self) -> None:
        """Say how many nodes were kept, behind the run."""
        asked, self._asked = getattr(self, "_asked", []), []
        if asked:
            why = "" if self._other_tests is None else f": {self._other_tests}"
            told.say(f"kept {sum(asked):,} of {counted(len(asked), 'node')}{why}")
