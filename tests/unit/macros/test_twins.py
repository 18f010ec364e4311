"""Rules that both Jinja (stock targets, dbt's parsing) and Python have: both give the same.

Others are compared where they are tested: settings in `test_schema`, range bounds in
`test_range_predicate`, what a merge decides in `unit/merge/test_merge_rules`.
"""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alluvium import marks
from alluvium.ingest.spec import SpecError, parse_spec
from alluvium.names import bare, literal, quoted
from alluvium.plan.graph import keeps_tombstones
from alluvium.plan.layout.errors import LayoutError
from alluvium.plan.layout.generated import GeneratedColumn
from alluvium.plan.layout.settings import WINDOWS, Layout, parse_layout
from alluvium.plan.ranges.column_type import parse_type
from alluvium.plan.ranges.errors import UnfitError
from alluvium.wording import counted
from dbt.adapters.alluvium.live import subquery

NAMES = st.text(min_size=1) | st.text("`a b", min_size=1, max_size=6)


@given(NAMES)
def test_names(compiled: Any, name: str) -> None:
    assert compiled.bare(name) == bare(name)
    assert compiled.quote_name(name) == quoted(name)
    assert compiled.quote(name) == quoted(bare(name))


@given(st.text() | st.text("'\\${}a", max_size=8))
def test_literals_of_texts(compiled: Any, text: str) -> None:
    assert compiled.text_literal(text) == literal(text)


@given(st.integers(0, 3) | st.integers(0, 10**9), st.sampled_from(["row", "batch", "event"]))
def test_counting_words(compiled: Any, number: int, noun: str) -> None:
    assert compiled.counted(number, noun) == counted(number, noun)


BLOCKS = st.fixed_dictionaries(
    {},
    optional={
        "delete_when": st.sampled_from([None, "op = 'd'"]),
        "delete": st.sampled_from([None, "soft", "hard"]),
        "order_by": st.sampled_from([None, "lsn", ["lsn", "at"]]),
    },
)


@given(BLOCKS)
def test_which_deletes_are_soft(compiled: Any, block: dict[str, Any]) -> None:
    node = SimpleNamespace(config=SimpleNamespace(meta={"alluvium_merge": block}))
    assert compiled.keeps_tombstones(block) is keeps_tombstones(node)


def test_soft_is_the_default_where_there_is_an_order(macros: Any) -> None:
    assert macros.keeps_tombstones({"delete_when": "d", "order_by": "lsn"}) is True
    assert macros.keeps_tombstones({"delete_when": "d"}) is False


def test_what_hides_tombstones(macros: Any) -> None:
    """`ref` and the macro write one text: the adapter knows it again where a name has to stand."""
    assert macros.without_tombstones("`s`.`t`") == subquery("`s`.`t`")


@given(NAMES, st.sampled_from(sorted(WINDOWS)))
def test_names_of_generated_columns(compiled: Any, column: str, window: str) -> None:
    name = GeneratedColumn(bare(column), window).name
    assert compiled.generated_column_name(column, window) == name
    assert re.fullmatch(r"\w+", name, re.ASCII)


def seconds(interval: str | None) -> float:
    """An interval of SQL, as the settings have it."""
    if interval is None:
        return float("inf")
    number, unit = interval.split()
    return int(number) * {"minute": 60, "hour": 3600, "day": 86400}[unit.rstrip("s")]


@pytest.mark.parametrize("window", [None, *WINDOWS])
def test_layout_defaults(macros: Any, window: str | None) -> None:
    by = {"bucket_by": {"column": "`a b`", "window": window}} if window else {}
    found = macros.layout_settings({"sort_by": "a", **by})
    layout = parse_layout("m", {"sort_by": "a", **by})
    assert found["column"] == layout.bucket_column == ("a b" if window else None)
    for name in ("window", "target_bytes", "fan_in"):
        assert found[name] == getattr(layout, name)
    # SQL sees no lateness: it knows no writer's commits.
    assert seconds(found["quiet_after"]) == layout.quiet_time(lateness=0)
    assert (found["fan_in"], found["target_bytes"]) == (Layout.fan_in, Layout.target_bytes)


# What is nearly a duration or a size, and any other text.
NEARLY = st.from_regex(r"[0-9]{0,7} ?(auto|minutes?|hours?|days?|weeks?|s|h|[KMG]i?B)?\n?")
NEARLY = NEARLY | st.text(max_size=8) | st.integers(-2, 10**13)


def of_layout(key: str, value: Any) -> Any:
    """What the library takes for the value; None where it refuses it."""
    block = {"sort_by": "a", "bucket_by": {"column": "d", "window": "day"}, key: value}
    try:
        return getattr(parse_layout("m", block), key, "read in SQL")
    except LayoutError:
        return None


@given(NEARLY)
def test_durations(compiled: Any, value: Any) -> None:
    of = compiled.value_schemas()
    assert compiled.fits_schema(value, of["duration"]) == (of_layout("retain", value) is not None)
    quiet = {"quiet_after": value}
    is_right = compiled.fits_schema(value, of["duration_or_auto"])
    assert is_right == (value == "auto" or of_layout("quiet_after", value) is not None)
    if is_right and value != "auto":
        of_sql = compiled.layout_settings({"sort_by": "a", **quiet})["quiet_after"]
        number, unit = of_sql.split()
        layout = of_layout("quiet_after", value)
        assert layout == int(number) * {
            "minute": 60, "hour": 3600, "day": 86400, "week": 604800,
        }[unit.rstrip("s")]  # fmt: skip


@given(NEARLY)
def test_sizes(compiled: Any, value: Any) -> None:
    found = of_layout("target_bytes", value)
    assert compiled.size_in_bytes(value) == found
    assert compiled.fits_schema(value, compiled.value_schemas()["size"]) == (found is not None)


@given(NEARLY)
def test_how_long_rows_wait(compiled: Any, value: Any) -> None:
    block = {"format": "json", "path": "p", "min_rows": 2, "max_wait": value}
    rule = compiled.settings_schema()["source"]["alluvium_stream"]["properties"]["max_wait"]
    try:
        parse_spec("raw.s", block)
    except SpecError:
        assert not compiled.fits_schema(value, rule)
    else:
        assert compiled.fits_schema(value, rule)


@pytest.mark.parametrize(
    "kind",
    [
        "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp",
        "timestamp_ntz", "string", "decimal(10,2)", "boolean", "binary", "map<int,int>",
        "array<int>", "string collate UTF8_LCASE", "interval day", "variant", "void",
    ],
)  # fmt: skip
def test_types_that_have_ranges(macros: Any, kind: str) -> None:
    try:
        parse_type(kind)
    except UnfitError:
        assert not macros.can_range(kind)
    else:
        assert macros.can_range(kind)


def test_the_key_of_a_merge_s_figures(macros: Any) -> None:
    """In a commit's metadata; a stock target writes and reads it in SQL."""
    noted = json.dumps({marks.MERGE_FIGURES: {"through": 7}})
    assert macros.merge_metadata(noted) == {"through": 7}
    ran: list[str] = []
    macros.context["run_query"] = ran.append
    macros.context["statement"] = lambda *args, **kwargs: ""
    macros.context["load_result"] = lambda name: SimpleNamespace(table=SimpleNamespace(rows=[]))
    macros.context["store_result"] = lambda *args, **kwargs: None
    macros.execute_merge({"table_id": "t-1", "statement": ""}, {"through": 7})
    text = ran[0].partition("userMetadata=")[2]
    assert macros.merge_metadata(text) == {"through": 7, "table": "t-1"}
