"""The audit of a published model: the tests of its candidate, and what this invocation saw of them.

A published model shows what its candidate holds once the candidate's tests have passed. Each of
them reads one version of the candidate, which is the version that is published.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dbt.artifacts.schemas.results import TestStatus
from dbt.flags import get_flags

from alluvium import schema
from alluvium.delta.log.log import TableVersion
from alluvium.delta.log.partial import Before
from alluvium.delta.published.published import RETENTION
from alluvium.plan.graph import ancestors, name_of
from alluvium.plan.published_models import (
    MATERIALIZED,
    META,
    candidate_of,
    is_published,
    settings_of,
    targets_of,
    tests_of,
)
from dbt.adapters.alluvium.held_back import HeldBack

# Of a test that passed: its unique id, and a table with the version of it that it read.
Passed = tuple[str, str, str]
# Keys of `meta` that say how files are written.
_OF_FILES = {"alluvium_layout", "alluvium_merge"}


def reads(sql: str, table: str) -> bool:
    """Whether a published model's select, as dbt compiled it, is of the table of this name."""
    return re.search(rf"(?<![\w.`]){re.escape(table)}(?![\w.`])", sql) is not None


def elsewhere(node: Any, target: str) -> str:
    """Why a target publishes nothing, where it may not."""
    return (
        f"target {target} publishes nothing, meta.{META} has targets: {', '.join(targets_of(node))}"
    )


def own_properties(node: Any) -> dict[str, str]:
    """Properties that a published model has by its config."""
    kept = settings_of(node).get("retention")
    own = {} if kept is None else dict.fromkeys(RETENTION, f"interval {kept}")
    return own | {str(k): str(v) for k, v in (node.config.get("tblproperties") or {}).items()}


def description(node: Any) -> str | None:
    """What the table of a published model says of itself; None where its config asks for none."""
    persists = (node.config.persist_docs or {}).get("relation")
    return node.description if persists and node.description else None


def makes_whole(node: Any, candidate: Any) -> str:
    """What publishes all rows of a candidate that was built with a part of them."""
    name = name_of(candidate)
    if candidate.resource_type == "snapshot":
        return f"`alluvium.restore` of {name} to an earlier version, or `alluvium.publish`"
    build = f"dbt build -s {name} {name_of(node)}"
    return f"`{build}`" if candidate.config.materialized == "table" else f"`{build} --full-refresh`"


def mistakes(nodes: Mapping[str, Any]) -> Iterator[str]:
    """Every mistake in the published models of a project, before its first statement.

    Args:
        nodes: the enabled ones, by unique id.
    """
    for node in nodes.values():
        if not is_published(node):
            if node.resource_type == "model" and META in (node.config.meta or {}):
                yield (
                    f"{name_of(node)}: meta.{META} is read of published models only;"
                    f" accepted: materialized: {MATERIALIZED}"
                )
            continue
        if META in (node.config.meta or {}):
            where, rule = f"{name_of(node)}: meta.{META}", schema.settings()["model"][META]
            yield from schema.mistakes(where, node.config.meta[META], rule)
        try:
            candidate = candidate_of(node, nodes)
        except ValueError as error:
            yield str(error)
            continue
        yield from _own_rules(node, candidate)
        tests = tests_of(candidate, nodes)
        if not tests and settings_of(node).get("audit") != "none":
            yield (
                f"{name_of(node)}: {name_of(candidate)} has no data test, so nothing would be"
                f" audited; accepted: a test of it, or meta.{META}: {{audit: none}}"
            )
        yield from _gates(node, candidate, tests, nodes)


def _own_rules(node: Any, candidate: Any) -> Iterator[str]:
    contract = getattr(node.config, "contract", None)
    columns = [column for column in node.columns.values() if column.constraints]
    for rule, names, is_given in (
        ("contract", "the contract", contract is not None and contract.enforced),
        ("constraint", "the constraints", getattr(node, "constraints", None) or columns),
    ):
        if is_given:
            yield (
                f"{name_of(node)}: a publish writes no row, so it checks no {rule};"
                f" accepted: {names} on {name_of(candidate)}"
            )
    given = [key for key in ("location_root", "partition_by") if node.config.get(key) is not None]
    given += [f"meta.{key}" for key in sorted(_OF_FILES & set(node.config.meta or {}))]
    for key in given:
        yield (
            f"{name_of(node)}: {key} says how files are written, and a publish writes none;"
            f" accepted: {key} on {name_of(candidate)}"
        )
    properties = node.config.get("tblproperties") or {}
    if settings_of(node).get("retention") is not None and RETENTION.keys() & properties.keys():
        names = ", ".join(sorted(RETENTION.keys() & properties.keys()))
        yield (
            f"{name_of(node)}: meta.{META}.retention sets {names}, and so does tblproperties;"
            " accepted: one of the two"
        )


def _gates(
    node: Any, candidate: Any, tests: Iterable[Any], nodes: Mapping[str, Any]
) -> Iterator[str]:
    """dbt runs a test before a model only where all that the test reads comes before it."""
    before = ancestors(node.unique_id, nodes.get)
    for test in tests:
        above = {one: ancestors(one, nodes.get) for one in test.depends_on.nodes if one in nodes}
        after = [one for one in above if node.unique_id in (one, *above[one])]
        made = [one for one in above if candidate.unique_id in above[one] and one not in after]
        late = [one for one in after if one not in before]
        others = [one for one in above if one not in before]
        names = ", ".join(name_of(nodes[one]) for one in made or late or others)
        reads = f"{name_of(node)}: the test {test.name} of {name_of(candidate)} reads {names}"
        if made:
            yield (
                f"{reads} too, which may be made from another version of it; accepted: a test that"
                f" reads {name_of(candidate)} alone"
            )
        elif late:
            yield (
                f"{reads}, which comes after the publish that it gates;"
                f" accepted: the test on {name_of(node)}"
            )
        elif others:
            refs = (f"-- depends_on: {{{{ {_ref(nodes[one])} }}}}" for one in others)
            yield (
                f"{reads}, which dbt may build after {name_of(node)};"
                f" accepted: in {name_of(node)} {'; '.join(refs)}"
            )


def _ref(node: Any) -> str:
    version = getattr(node, "version", None)
    return f"ref('{node.name}')" if version is None else f"ref('{node.name}', v={version!r})"


@dataclass(frozen=True)
class Outcome:
    """What one test said of one version of the candidate; None where it read another."""

    passed: bool
    version: str | None


@dataclass
class AuditLedger:
    """What this invocation saw: one for all threads, each of which reads or sets one entry.

    versions: by candidate's id, the version that its tests read and that is published: that which
        was built here, or that of the first test.
    outcomes: by the ids of a test and of a candidate.
    held: by candidate's id, what its tests held back.
    before: what passed in the commands that `dbt retry` takes up.
    begun: by candidate's id, how its table was before it was built with a part of its rows.
    """

    versions: dict[str, TableVersion] = field(default_factory=dict)
    outcomes: dict[tuple[str, str], Outcome] = field(default_factory=dict)
    held: dict[str, HeldBack] = field(default_factory=dict)
    before: set[Passed] = field(default_factory=set)
    begun: dict[str, Before] = field(default_factory=dict)


def passed(test: Any, result: Mapping[str, Any]) -> bool:
    """Whether a data test passes, or warns, as dbt will work it out behind the adapter.

    result: dbt's three columns of the test's query.
    """
    if test.config.severity.upper() == "ERROR" and result["should_error"]:
        return False
    flags = get_flags()
    strict = flags.WARN_ERROR or flags.WARN_ERROR_OPTIONS.includes("LogTestResult")
    return not (result["should_warn"] and strict)


def passes(results: Iterable[Any], carried: Iterable[Passed] = ()) -> set[Passed]:
    """What passed in the command that is taken up again, and in those that it took up itself.

    Args:
        results: those of its run_results.json.
        carried: what passed before it. A test that it ran again has its newer result.
    """
    good, ran = {str(TestStatus.Pass), str(TestStatus.Warn)}, set[str]()
    found = set[Passed]()
    for one in results:
        ran.add(one.unique_id)
        if str(one.status) in good:
            read = one.adapter_response.get("versions") or {}
            found |= {(one.unique_id, *each) for each in read.items()}
    return found | {one for one in carried if one[0] not in ran}


def earlier(before: Iterable[Passed], table: str, version: TableVersion) -> set[str]:
    """Tests that passed before for this version of a table."""
    return {test for test, *read in before if read == [table, str(version)]}
