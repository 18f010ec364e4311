"""Each kind of change event becomes what docs/change-events.md says, on a real session."""

from __future__ import annotations

import json
from typing import Any

import pytest
from functional.runner import REPO
from functional.stream import change_event_cases as cases
from oracle import flights
from pyspark.sql import Row, SparkSession
from support.rendered import Macros, compiled_macros
from unit.feeds import samples

from alluvium.plan import feeds

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def macros() -> Macros:
    return Macros()


def landed(spark: SparkSession, events: list[cases.Case]) -> str:
    """A view of bronze that holds the events, in their order by `_source_offset`."""
    rows = [(e.key, e.value, e.headers, e.place, i, None, 1) for i, e in enumerate(events)]
    spark.createDataFrame(rows, cases.BRONZE).createOrReplaceTempView("bronze")
    return "bronze"


def plain(value: Any) -> Any:
    """A value of Spark as Python has it."""
    if isinstance(value, Row):
        return tuple(value)
    return bytes(value) if isinstance(value, bytearray) else value


@pytest.mark.parametrize("group", cases.GROUPS)
@pytest.mark.proves("change events", on="embedded")
def test_outcomes(spark: SparkSession, macros: Macros, group: str) -> None:
    arguments, events = cases.GROUPS[group]
    macro = getattr(macros, arguments.get("macro", "debezium"))
    given = {name: value for name, value in arguments.items() if name != "macro"}
    found = spark.sql(f"select * from {macro(landed(spark, events), **given)}").collect()
    assert sorted(row._source_offset for row in found) == list(range(len(events)))
    wrong = []
    for row in found:
        event = events[row._source_offset]
        got = row.asDict() | {"_rejected": row._rejected and row._rejected.reason}
        if row._rejected:
            assert row._rejected.value == (event.value if event.value is not None else event.key)
        bad = {
            name: plain(got[name])
            for name, value in event.expected.items()
            if plain(got[name]) != value
        }
        if bad:
            wrong.append((event.row, (event.value or "")[:300], bad, event.expected))
    assert not wrong, "\n".join(str(one)[:700] for one in wrong)


# Other tests run the first one, and each is built by `test_merge_generated_feeds.py`.
LATER = ("debezium", "flat schema", "one of several", "no connector")


@pytest.mark.parametrize(
    "form",
    [pytest.param(one, marks=[pytest.mark.slow] * (one in LATER)) for one in samples.BUILT],
)
def test_a_generated_model_reads_its_sample(spark: SparkSession, form: str) -> None:
    """Each of its columns, from events of each form; what Spark refuses would fail."""
    events, key, values = samples.BUILT[form]
    sample = feeds.look(events, "orders")
    model = feeds.generate("orders", [key], sample, "bronze")["orders.sql"]
    landed(spark, [cases.Case("", event, {}) for event in events])
    found = spark.sql(samples.rendered(model, lambda events, merged: events))
    row, *others = found.sort("_source_offset").collect()
    assert row._rejected is None
    got = {name: plain(value) for name, value in row.asDict().items() if name[0] != "_"}
    assert got == values
    assert all(other._rejected for other in others)


def test_a_filter_reads_no_json_again(spark: SparkSession, macros: Macros) -> None:
    """As many `from_json` for 60 columns as for 3, with filters on what comes out."""
    landed(spark, [])
    spark.conf.set("spark.sql.debug.maxToStringFields", 100_000)
    counts = []
    for width in (3, 60):
        kinds = ("int", "decimal(12,2)", "timestamp", "string")
        columns = ", ".join(f"c{n} {kinds[n % 4]}" for n in range(width))
        query = macros.debezium("bronze", key="c0", columns=columns, connector="mysql")
        where = "_rejected is null and _op <> 'd' and c1 > 5 and c2 is not null and c0 > 1"
        found = spark.sql(f"select * from {query} where {where}")
        plan = found._jdf.queryExecution().optimizedPlan().toString()
        counts.append(plan.lower().count("from_json("))
    # The event, once more with marks where a number needs it, and the message's key for deletes
    # without `before`.
    assert counts == [3, 3]


def test_a_filter_over_many_columns_is_planned_at_once(spark: SparkSession, macros: Macros) -> None:
    """Spark knows as much of the rows as it is told: it would double that for each alias."""
    landed(spark, [])
    columns = ", ".join(f"c{n} int" for n in range(10))
    query = macros.debezium("bronze", key="c0", columns=columns, connector="mysql")
    total = " + ".join(f"cast(c{n} as bigint)" for n in range(10))
    found = spark.sql(f"select * from {query} where {total} > 9")
    known = found._jdf.queryExecution().optimizedPlan().validConstraints().size()
    assert known < 40


# The reference feed ----------------------------------------------------------------------------

IMAGE = {
    "year": 2013, "month": 1, "day": 31, "carrier": "UA", "flight": 1545, "origin": "EWR",
    "dest": "IAH", "tailnum": None, "distance": 1400, "sched_dep_time": 515, "sched_arr_time": 819,
    "dep_delay": 2, "arr_time": "830", "arr_delay": -11, "air_time": 227, "status": "arrived",
}  # fmt: skip
DAMAGES: list[dict[str, Any]] = [
    {}, {"carrier": None}, {"flight": "UA-1545"}, {"flight": 2**31}, {"month": 13}, {"day": "31"},
    {"year": True}, {"sched_dep_time": None}, {"sched_dep_time": 2400}, {"sched_dep_time": 560},
    {"sched_dep_time": "x"}, {"sched_dep_time": None, "distance": "far"}, {"distance": 1.5},
    {"flight": "x", "sched_dep_time": None}, {"flight": None, "distance": "far"},
    {"flight": "x", "month": 13}, {"air_time": "far", "sched_dep_time": 2400},
]  # fmt: skip


def lines_of_flights() -> list[str]:
    """Lines with each damage and some with two, for each op."""
    lines = ["", "{", "[]", "5", "null", '{"op":"c"', "{}", '{"op":"c"} ', "[{}]", '{"op": 7}']
    for op in ("c", "u", "r", "d", "t", "x", "m", None):
        image = "before" if op == "d" else "after"
        plain = {"op": op, "ts_ms": 5, "source": {"lsn": 7}, image: IMAGE}
        lines += [json.dumps(plain | {image: IMAGE | damage}) for damage in DAMAGES]
        for change in (
            {"ts_ms": None}, {"ts_ms": "7"}, {"ts_ms": 1.5}, {"ts_ms": 2**63}, {"source": None},
            {"source": 5}, {"source": {}}, {"source": {"lsn": "-3"}}, {"source": {"lsn": 2**63}},
            {image: None}, {image: 5}, {image: {}}, {image: []}, {image: None, "source": {}},
            {"after" if op == "d" else "before": 5},
        ):  # fmt: skip
            lines.append(json.dumps(plain | change))
    return lines


def test_flights_are_parsed_by_their_rules(spark: SparkSession, macros: Macros) -> None:
    """The macro under the reference feed gives the columns and the reasons of docs/feeds.md."""
    lines = lines_of_flights()
    events = [cases.Case("", line, {}) for line in lines]
    model = (REPO / "models/flights/flights_parsed.sql").read_text()
    environment, _ = compiled_macros()
    known = macros.context | {"ref": lambda name: landed(spark, events)}
    sql = environment.from_string(model).render(known)
    found = {row._source_offset: row.asDict() for row in spark.sql(sql).collect()}
    assert sorted(found) == list(range(len(lines)))
    wrong = []
    for number, line in enumerate(lines):
        try:
            row, reason = flights.parse_line(line), None
        except flights.RejectedError as error:
            row, reason = {}, error.args[0]
        got = {name: found[number][name] for name in row} | {
            "reject_reason": found[number]["reject_reason"]
        }
        if got != row | {"reject_reason": reason}:
            wrong.append((line, got, reason))
    assert not wrong, "\n".join(map(str, wrong[:40]))
    assert {row["reject_reason"] for row in found.values()} == {None, *flights.REASONS}
