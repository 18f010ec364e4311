"""The audit of a published model: the tests of its candidate, and what this invocation saw of them.

A published model shows what its candidate holds once the candidate's tests have passed. Each of
them reads one version of the candidate, which is the version that is published.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dbt.artifacts.schemas.results import TestStatus
from dbt.flags import get_flags

from alluvium.delta.log import TableVersion
from alluvium.delta.published import RETENTION
from dbt.adapters.alluvium.above import parents_of
from dbt.adapters.alluvium.held_back import HeldBack

MATERIALIZED = "published"
META = "alluvium_publish"
# What a published model may be besides its one `select *`: what says nothing of rows.
_ASIDE = re.compile(
    r"""\{#.*?#\}|\{\{-?\s*config\((?:'[^']*'|"[^"]*"|[^'"])*?\)\s*-?\}\}|/\*.*?\*/|--[^\n]*""",
    re.DOTALL,
)
_SELECT = re.compile(
    r"\s*select\s+\*\s+from\s+\{\{-?\s*ref\((?P<ref>[^()]*)\)\s*-?\}\}\s*;?\s*", re.IGNORECASE
)
# What keeps rows in a table of Delta's.
_TABLES = ("incremental", "table", "snapshot")
# Keys of `meta` that say how files are written.
_OF_FILES = {"alluvium_layout", "alluvium_merge"}


def is_published(node: Any) -> bool:
    return node.resource_type == "model" and node.config.materialized == MATERIALIZED


def candidate_of(node: Any, nodes: Mapping[str, Any]) -> Any:
    """The node whose table a published model shows.

    Args:
        node: the published model.
        nodes: those of the project, by unique id.

    Raises:
        ValueError: it is anything but `select *` from one `ref`; or from what is not a table.
    """
    wanted = "`select * from {{ ref('…') }}`, a table of the project"
    found = _SELECT.fullmatch(_ASIDE.sub(" ", node.raw_code))
    if found is None:
        raise ValueError(
            f"{node.name}: a published model shows one whole table; accepted: {wanted}."
            " Filters and columns belong in the model of that table"
        )
    names, version = _arguments(found["ref"])
    parents = [nodes[one] for one in node.depends_on.nodes if one in nodes]
    candidates = [
        parent
        for parent in parents
        if [parent.package_name, parent.name][-len(names) :] == names
        and (version is None or str(getattr(parent, "version", None)) == version)
    ]
    if len(candidates) != 1 or candidates[0].unique_id == node.unique_id:
        named = found["ref"].strip()
        many = "names several tables" if len(candidates) > 1 else "names no table"
        raise ValueError(f"{node.name}: {named} {many} of the project; accepted: {wanted}")
    kind = candidates[0].config.materialized
    if candidates[0].resource_type not in ("model", "snapshot") or kind not in _TABLES:
        raise ValueError(
            f"{node.name}: {candidates[0].name} is materialized as {kind}, of which no version is"
            f" kept; accepted: {', '.join(_TABLES)}"
        )
    return candidates[0]


def reads(sql: str, table: str) -> bool:
    """Whether a published model's select, as dbt compiled it, is of the table of this name."""
    return re.search(rf"(?<![\w.`]){re.escape(table)}(?![\w.`])", sql) is not None


def _arguments(text: str) -> tuple[list[str], str | None]:
    """The names and the version that a `ref` is called with."""
    try:
        call = ast.parse(f"ref({text})", mode="eval").body
        assert isinstance(call, ast.Call)
        names = [str(ast.literal_eval(one)) for one in call.args]
        named = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
    except (SyntaxError, TypeError, ValueError):
        return ["?"], None
    version = named.get("version", named.get("v"))
    return names, None if version is None else str(version)


def candidates(nodes: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Each published model with its candidate; those of which `mistakes` tells are left out."""
    for node in filter(is_published, nodes.values()):
        try:
            yield node, candidate_of(node, nodes)
        except ValueError:
            continue


def tests_of(candidate: Any, nodes: Mapping[str, Any]) -> list[Any]:
    """The audit: data tests attached to the candidate, and singular tests that read it."""
    return [
        node
        for node in nodes.values()
        if node.resource_type == "test"
        and candidate.unique_id
        in (getattr(node, "attached_node", None) or "", *_parents_of_singular(node))
    ]


def _parents_of_singular(test: Any) -> Iterable[str]:
    return () if getattr(test, "test_metadata", None) is not None else test.depends_on.nodes


def settings_of(node: Any) -> dict[str, Any]:
    """`meta.alluvium_publish` of a published model."""
    return dict((node.config.meta or {}).get(META) or {})


def may_publish(node: Any, target: str) -> bool:
    """Whether builds of a target move what readers see of a published model."""
    return target in _targets(node) or not _targets(node)


def elsewhere(node: Any, target: str) -> str:
    """Why a target publishes nothing, where it may not."""
    return (
        f"target {target} publishes nothing, meta.{META} has targets: {', '.join(_targets(node))}"
    )


def _targets(node: Any) -> list[str]:
    named = settings_of(node).get("targets") or []
    return [named] if isinstance(named, str) else list(named)


def own_properties(node: Any) -> dict[str, str]:
    """Properties that a published model has by its config."""
    kept = settings_of(node).get("retention")
    own = {} if kept is None else dict.fromkeys(RETENTION, f"interval {kept}")
    return own | {str(k): str(v) for k, v in (node.config.get("tblproperties") or {}).items()}


def mistakes(nodes: Mapping[str, Any]) -> Iterator[str]:
    """Every mistake in the published models of a project, before its first statement.

    Args:
        nodes: the enabled ones, by unique id.
    """
    for node in nodes.values():
        if not is_published(node):
            if node.resource_type == "model" and META in (node.config.meta or {}):
                yield (
                    f"{node.name}: meta.{META} is read of published models only;"
                    f" accepted: materialized: {MATERIALIZED}"
                )
            continue
        try:
            candidate = candidate_of(node, nodes)
        except ValueError as error:
            yield str(error)
            continue
        yield from _own_rules(node, candidate)
        tests = tests_of(candidate, nodes)
        if not tests and settings_of(node).get("audit") != "none":
            yield (
                f"{node.name}: {candidate.name} has no data test, so nothing would be audited;"
                f" accepted: a test of it, or meta.{META}: {{audit: none}}"
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
                f"{node.name}: a publish writes no row, so it checks no {rule};"
                f" accepted: {names} on {candidate.name}"
            )
    given = [key for key in ("location_root", "partition_by") if node.config.get(key) is not None]
    given += [f"meta.{key}" for key in sorted(_OF_FILES & set(node.config.meta or {}))]
    for key in given:
        yield (
            f"{node.name}: {key} says how files are written, and a publish writes none;"
            f" accepted: {key} on {candidate.name}"
        )
    properties = node.config.get("tblproperties") or {}
    if settings_of(node).get("retention") is not None and RETENTION.keys() & properties.keys():
        names = ", ".join(sorted(RETENTION.keys() & properties.keys()))
        yield (
            f"{node.name}: meta.{META}.retention sets {names}, and so does tblproperties;"
            " accepted: one of the two"
        )


def _gates(
    node: Any, candidate: Any, tests: Iterable[Any], nodes: Mapping[str, Any]
) -> Iterator[str]:
    """dbt runs a test before a model only where all that the test reads comes before it."""
    before = _ancestors(node.unique_id, nodes)
    for test in tests:
        above = {one: _ancestors(one, nodes) for one in test.depends_on.nodes if one in nodes}
        after = [one for one in above if node.unique_id in (one, *above[one])]
        made = [one for one in above if candidate.unique_id in above[one] and one not in after]
        late = [one for one in after if one not in before]
        others = [one for one in above if one not in before]
        names = ", ".join(nodes[one].name for one in made or late or others)
        reads = f"{node.name}: the test {test.name} of {candidate.name} reads {names}"
        if made:
            yield (
                f"{reads} too, which may be made from another version of it; accepted: a test that"
                f" reads {candidate.name} alone"
            )
        elif late:
            yield (
                f"{reads}, which comes after the publish that it gates;"
                f" accepted: the test on {node.name}"
            )
        elif others:
            refs = (f"-- depends_on: {{{{ ref('{nodes[one].name}') }}}}" for one in others)
            yield (
                f"{reads}, which dbt may build after {node.name};"
                f" accepted: in {node.name} {'; '.join(refs)}"
            )


def _ancestors(one: str, nodes: Mapping[str, Any]) -> set[str]:
    """Unique ids of all that a node is made from."""
    found, due = set[str](), [one]
    while due:
        parents = set(parents_of(nodes.get(due.pop())))
        due += parents - found
        found |= parents
    return found


@dataclass(frozen=True)
class Outcome:
    """What one test said of one version of the candidate; None where it read another."""

    passed: bool
    version: str | None


@dataclass
class Ledger:
    """What this invocation saw: one for all threads, each of which reads or sets one entry.

    versions: by candidate's id, the version that its tests read and that is published: that which
        was built here, or that of the first test.
    outcomes: by the ids of a test and of a candidate.
    held: by candidate's id, what its tests held back.
    """

    versions: dict[str, TableVersion] = field(default_factory=dict)
    outcomes: dict[tuple[str, str], Outcome] = field(default_factory=dict)
    held: dict[str, HeldBack] = field(default_factory=dict)


def passed(test: Any, result: Mapping[str, Any]) -> bool:
    """Whether a data test passes, or warns, as dbt will work it out behind the adapter.

    result: dbt's three columns of the test's query.
    """
    if test.config.severity.upper() == "ERROR" and result["should_error"]:
        return False
    flags = get_flags()
    strict = flags.WARN_ERROR or flags.WARN_ERROR_OPTIONS.includes("LogTestResult")
    return not (result["should_warn"] and strict)


def earlier(results: Iterable[Any], table: str, version: TableVersion) -> set[str]:
    """Tests that passed for this version of a table in the command that is taken up again.

    results: those of its run_results.json.
    """
    good = {str(TestStatus.Pass), str(TestStatus.Warn)}
    return {
        one.unique_id
        for one in results
        if str(one.status) in good
        and (one.adapter_response.get("versions") or {}).get(table) == str(version)
    }
