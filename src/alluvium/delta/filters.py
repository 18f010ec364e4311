"""The filters of a query that reach its tables, where Spark's optimizer puts them.

Nothing is executed: the query is parsed, analysed and optimised. By then views and CTEs are
resolved. Filters have moved down to the tables, through views, aliases, joins and aggregates. What
a join implies for its other side has been inferred.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from alluvium.delta import internals as delta
from alluvium.engine import internals as spark
from alluvium.engine import jvm
from alluvium.engine.handles import JavaExpression, JavaPlan, JavaRelation
from alluvium.plan.layout.suggestion import EQUALITY, JOINED, OTHER, RANGE, SUBQUERY

_EXCLUDED = "spark.sql.optimizer.excludedRules"
# The first looks for the files of each Delta table; the others add filters on what a join finds.
_RULES = (delta.PREPARE_SCAN.name, spark.INJECT_RUNTIME_FILTER.name, spark.PARTITION_PRUNING.name)
# What compares a column with constants: EQUALITY or RANGE, by the name of the expression.
_EITHER_SIDE = {
    "EqualTo": EQUALITY,
    "EqualNullSafe": EQUALITY,
    "LessThan": RANGE,
    "LessThanOrEqual": RANGE,
    "GreaterThan": RANGE,
    "GreaterThanOrEqual": RANGE,
}
# The same where the column comes first; `Not` is of a boolean column. LIKE 'a%' is StartsWith.
_COLUMN_FIRST = {
    "In": EQUALITY,
    "InSet": EQUALITY,
    "IsNull": EQUALITY,
    "Not": EQUALITY,
    "StartsWith": RANGE,
}


@dataclass(frozen=True)
class Reading:
    """What one query does with the columns of one table that it reads.

    Attributes:
        table: schema and name, in lower case.
        uses: by column, what is done with it: EQUALITY, RANGE, OTHER, SUBQUERY, JOINED.
    """

    table: tuple[str, str]
    uses: dict[str, set[str]]


class Optimizer:
    """Optimises queries as the session would, its views and settings included."""

    def __init__(self, session: SparkSession) -> None:
        self._copy = jvm.SessionCopy(session)
        given = self._copy.spark.conf().get(_EXCLUDED, "")
        self._copy.set(_EXCLUDED, ",".join([*filter(None, [given]), *_RULES]))
        self._physical = self._copy.internal(spark.PHYSICAL_OPERATION)

    def readings(self, sql: str) -> list[Reading]:
        """What a query does with the tables that the metastore knows, a reading for each.

        A table whose rows the optimizer sees that no filter lets pass is read to no use.

        Raises:
            PySparkException, Py4JJavaError: Spark cannot resolve or optimise it.
        """
        with self._copy.active():
            state = self._copy.spark.sessionState()
            # A command is resolved and not run.
            mode = self._copy.internal(spark.COMMAND_EXECUTION_MODE).SKIP()
            analyzed = state.executePlan(state.sqlParser().parsePlan(sql), mode).analyzed()
            # Not the execution's own optimized plan: that reads a cached table from the cache.
            plan = state.optimizer().execute(analyzed.clone())
            plans = [plan, *jvm.items(plan.subqueriesAll())]
            scans = [scan for one in plans for scan in self._scans(one)]
            joins = [pair for one in plans for pair in _joins(one)]
            scans += [(leaf, []) for leaf in jvm.relations(analyzed)]
        return _readings(scans, joins)

    def scan(self, analyzed: Any) -> tuple[Any, Any]:
        """An optimized plan, and the one relation that it takes rows and columns from unchanged.

        None where there is no such relation: the plan does more than leave some out.
        """
        with self._copy.active():
            plan = self._copy.spark.sessionState().optimizer().execute(analyzed.clone())
        found = self._physical.unapply(plan)
        child = found.get()._3() if found.isDefined() else plan
        return plan, child if child.nodeName() == "LogicalRelation" else None

    def _scans(self, plan: JavaPlan) -> Iterator[tuple[Any, list[Any]]]:
        """The relations that a plan reads, each with the filters right above it."""
        found = self._physical.unapply(plan)
        if found.isDefined():
            filters, child = found.get()._2(), found.get()._3()
            if child.nodeName() == "LogicalRelation":
                yield child, jvm.items(filters)
                return
        for child in jvm.items(plan.children()):
            yield from self._scans(child)


def _readings(scans: list[tuple[Any, list[Any]]], joins: list[tuple[Any, Any]]) -> list[Reading]:
    found: dict[tuple[str, str], dict[str, set[str]]] = {}
    columns: dict[Any, tuple[tuple[str, str], str]] = {}
    for relation, filters in scans:
        table = _table(relation)
        if table is None:
            continue
        uses = found.setdefault(table, defaultdict(set))
        for filter_ in filters:
            for column, kinds in _uses(filter_).items():
                uses[column] |= kinds
        for attribute in jvm.items(relation.output()):
            columns[attribute.exprId().id()] = (table, attribute.name())
    for pair in joins:
        for one in pair:
            if one.exprId().id() in columns:
                table, column = columns[one.exprId().id()]
                found[table][column].add(JOINED)
    return [Reading(table, dict(uses)) for table, uses in found.items()]


def _table(relation: JavaRelation) -> tuple[str, str] | None:
    """Schema and name of a relation; None where it was read by its path."""
    table = relation.catalogTable()
    if not table.isDefined() or not table.get().identifier().database().isDefined():
        return None
    name = table.get().identifier()
    return name.database().get().lower(), name.table().lower()


def _joins(plan: JavaPlan) -> Iterator[tuple[Any, Any]]:
    """The columns that joins compare for equality, in pairs."""
    if plan.nodeName() == "Join" and plan.condition().isDefined():
        for one in _conjuncts(plan.condition().get()):
            if one.nodeName() in ("EqualTo", "EqualNullSafe"):
                left, right = jvm.items(one.children())
                if _is_column(left) and _is_column(right):
                    yield left, right
    for child in jvm.items(plan.children()):
        yield from _joins(child)


def _conjuncts(expression: JavaExpression) -> Iterator[Any]:
    if expression.nodeName() == "And":
        for child in jvm.items(expression.children()):
            yield from _conjuncts(child)
    else:
        yield expression


def _uses(expression: JavaExpression) -> dict[str, set[str]]:
    """By column, what a filter does with it."""
    found: dict[str, set[str]] = {}
    for one in _conjuncts(expression):
        if one.nodeName() == "IsNotNull" and _is_column(one.children().head()):
            continue  # which the optimizer adds to other filters
        bounds = _bounds(one)
        for attribute in jvm.items(one.references().toSeq()):
            found.setdefault(attribute.name(), set()).add(bounds.get(attribute.name(), OTHER))
        if bounds and any(part.nodeName() == "ScalarSubquery" for part in _nodes(one)):
            for column in bounds:
                found[column].add(SUBQUERY)
    return found


def _bounds(expression: JavaExpression) -> dict[str, str]:
    """The columns whose values in the rows that pass are bounded by constants, and how.

    Sound: what is said of a column holds for every row that passes.
    """
    name = expression.nodeName()
    if _is_column(expression):  # a boolean
        return {expression.name(): EQUALITY}
    children = jvm.items(expression.children())
    if name == "And":
        left, right = map(_bounds, children)
        return {
            column: EQUALITY if EQUALITY in (left.get(column), right.get(column)) else RANGE
            for column in {**left, **right}
        }
    if name == "Or":
        left, right = map(_bounds, children)
        return {
            column: EQUALITY if left[column] == right[column] == EQUALITY else RANGE
            for column in left
            if column in right
        }
    kind = _EITHER_SIDE.get(name) or _COLUMN_FIRST.get(name)
    if kind is None:
        return {}
    columns = [one for one in children if _is_column(one)]
    if len(columns) != 1 or (name in _COLUMN_FIRST and not _is_column(children[0])):
        return {}
    constant = all(_is_constant(one) for one in children if not _is_column(one))
    return {columns[0].name(): kind} if constant else {}


def _is_column(expression: JavaExpression) -> bool:
    return bool(expression.nodeName() == "AttributeReference")


def _is_constant(expression: JavaExpression) -> bool:
    """Whether it has one value for all rows: a literal, the current time, a subquery."""
    return bool(expression.deterministic()) and bool(expression.references().isEmpty())


def _nodes(expression: JavaExpression) -> Iterator[Any]:
    yield expression
    for child in jvm.items(expression.children()):
        yield from _nodes(child)
