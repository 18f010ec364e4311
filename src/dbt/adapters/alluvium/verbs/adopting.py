"""Adoption: a table of a model becomes the candidate of a published one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from dbt.adapters.base import available
from dbt_common.exceptions import DbtRuntimeError

from alluvium.delta.log import inherited, log
from alluvium.plan import published_models
from alluvium.plan.graph import name_of
from alluvium.plan.versions import heirs
from alluvium.publish.adopt import Adoption, adopt
from dbt.adapters.alluvium.verbs.base import SessionAdapter

_SUFFIX = "_wap"


class Adopting(SessionAdapter):
    @available.parse_list
    def adopt(self, unique_id: str, former: str | None, dry_run: bool) -> list[str]:
        """Make a model's table the candidate of a published one; the lines that say so.

        Args:
            unique_id: The model's, as the project has it before.
            former: The unique id of a model where this one goes on, in its own table. Nothing else
                is done then.
            dry_run: Whether nothing is done.

        Raises:
            DbtRuntimeError: It cannot be adopted; nothing was changed.
        """
        node = self.nodes[unique_id]
        if former is not None:
            return [self._go_on(node, former, dry_run)]
        self._check_adopted(node)
        candidate = f"{node.name}{_SUFFIX}"
        adoption = Adoption(
            schema=str(node.schema),
            table=str(node.alias),
            candidate=candidate,
            model=unique_id,
            candidate_model=f"model.{node.package_name}.{candidate}",
        )
        with self._working("alluvium.adopt") as session:
            done = adopt(session, adoption, dry_run=dry_run)
        verb = "would move" if dry_run else "moved"
        lines = [f"{node.name}: {verb} {one}" for one in done]
        lines = lines or [f"{node.name}: is adopted, and nothing is left to move"]
        return [*lines, "To change in the project, before its next run:", *self._changes(node)]

    def _go_on(self, node: Any, former: str, dry_run: bool) -> str:
        table = self.table_of(node)
        with self._working("alluvium.adopt") as session:
            table_id, numbers = log.state(session, table)
            found = heirs.formers(numbers, table_id, node.unique_id)
            if former not in found:
                accepted = ", ".join(found) or f"no former; nobody has what {node.name} lacks there"
                raise DbtRuntimeError(
                    f"alluvium.adopt: former: {former} has nothing in {table} that {node.name}"
                    f" could take over; accepted: {accepted}"
                )
            if dry_run:
                due = heirs.taken_over(numbers, table_id, former, node.unique_id)
            else:
                due = inherited.take_over(session, table, former, node.unique_id)
        does = "would go on" if dry_run else "goes on"
        return f"{name_of(node)}: {does} where {former} was: {heirs.said(due)}"

    def _check_adopted(self, node: Any) -> None:
        wrong = None
        if node.config.materialized != "incremental":
            wrong = f"is materialized as {node.config.materialized}; accepted: an incremental model"
        elif getattr(node, "version", None) is not None:
            wrong = "has versions; accepted: a model without"
        elif node.alias != node.name:
            wrong = f"has the alias {node.alias}; accepted: a model whose table has its own name"
        elif node.config.get("location_root") is not None:
            wrong = "has a location_root, which a rename would not move; accepted: a managed table"
        elif f"{node.unique_id}{_SUFFIX}" in self.nodes:
            wrong = (
                f"has a model {node.name}{_SUFFIX} beside it; accepted: to give that another name"
            )
        elif any(
            one.unique_id == node.unique_id for _, one in published_models.candidates(self.nodes)
        ):
            wrong = "is the candidate of a published model already; accepted: another model"
        if wrong is not None:
            raise DbtRuntimeError(f"alluvium.adopt: {node.name} {wrong}")

    def _changes(self, node: Any) -> Iterator[str]:
        """What a person does next, a line each."""
        candidate = f"{node.name}{_SUFFIX}"
        path = PurePosixPath(node.original_file_path)
        yield f"  {path} → {path.with_name(candidate + path.suffix)}"
        select = f"select * from {{{{ ref('{candidate}') }}}}"
        yield (
            f"  {path.with_name(node.name + '.sql')}, new:"
            f" {{{{ config(materialized='published') }}}} {select}"
        )
        tests = published_models.tests_of(node, self.nodes)
        if node.patch_path:
            yml = node.patch_path.partition("://")[2]
            yield f"  {yml}: `name: {node.name}` becomes `name: {candidate}`, with its tests"
        yield from (
            f"  {test.original_file_path}: ref('{node.name}') becomes ref('{candidate}')"
            for test in tests
            if getattr(test, "test_metadata", None) is None
        )
        # A macro that goes by a model's progress or settings is told its name.
        named = re.compile(
            rf"""alluvium\.(\w+)\((?:[^()]|\([^()]*\))*['"]{re.escape(node.name)}['"]"""
        )
        for one in self.nodes.values():
            for macro in sorted(set(named.findall(getattr(one, "raw_code", "") or ""))):
                yield (
                    f"  {one.original_file_path}: '{node.name}' becomes '{candidate}' in"
                    f" alluvium.{macro}(…)"
                )
        if not tests:
            yield (
                f"  {candidate} has no data test: add one, or"
                f" meta.{published_models.META}: {{audit: none}} to {node.name}"
            )
        yield f"  then `dbt build -s {candidate}+`"
