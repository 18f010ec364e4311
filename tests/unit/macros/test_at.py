"""`alluvium.at`: what it writes behind a relation, and what it accepts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({"version": 0}, "s.t version as of 0"),
        ({"version": 42}, "s.t version as of 42"),
        ({"timestamp": "2025-01-31"}, "s.t timestamp as of '2025-01-31 00:00 UTC'"),
        ({"timestamp": "2025-01-31 18:00"}, "s.t timestamp as of '2025-01-31 18:00 UTC'"),
    ],
)
def test_a_version_and_a_time(macros: Any, given: dict[str, Any], written: str) -> None:
    macros.context["target"] = SimpleNamespace(type="databricks")
    assert macros.at("s.t", **given).strip() == written


class Ref:
    """A relation as dbt writes it, and as it is named."""

    is_cte = False

    def __init__(self, written: str) -> None:
        self.written = written

    def render(self) -> str:
        return "s.t"

    def __str__(self) -> str:
        return self.written


@pytest.mark.parametrize(
    "written",
    [
        "(select * from s.t where false limit 0)",
        "(select * from s.t where at >= '2024-01-01' and at < '2024-01-02')",
        "(select * from (select * from s.t limit 5) where at < '2024-01-02')",
    ],
)
def test_what_dbt_writes_around_a_name(macros: Any, written: str) -> None:
    """`--empty`, `--sample` and a microbatch make a subquery of a ref."""
    macros.context["target"] = SimpleNamespace(type="spark")
    travelled = written.replace("s.t", "s.t version as of 3")
    assert macros.at(Ref(written), version=3).strip() == travelled


def test_what_has_no_versions(macros: Any, stop: type[Exception]) -> None:
    of_no_table: Any = Ref("__dbt__cte__codes")
    of_no_table.is_cte, of_no_table.identifier = True, str(of_no_table)
    with pytest.raises(stop, match="codes is ephemeral, so no version of it is kept; accepted: a "):
        macros.at(of_no_table, version=3)
    # In a unit test the rows that it gives stand for that version.
    macros.context["model"] = SimpleNamespace(resource_type="unit_test")
    assert macros.at(of_no_table, tag="before").strip() == "__dbt__cte__codes"


def test_a_compile_that_looks_up_nothing(macros: Any) -> None:
    """`--no-introspect` has no connection by which to find the version of a tag."""
    macros.context["flags"] = SimpleNamespace(INTROSPECT=False)
    macros.context["adapter"] = SimpleNamespace()
    assert macros.at(Ref("s.t"), tag="before").strip() == "s.t"
    assert macros.at(Ref("s.t"), version=3).strip() == "s.t version as of 3"


def test_the_adapter_knows_versions(macros: Any, stop: type[Exception]) -> None:
    asked: list[Any] = []
    macros.context["adapter"] = SimpleNamespace(at=lambda *given: asked.append(given) or "s.t v")
    assert macros.at("s.t", tag="before").strip() == "s.t v"
    assert macros.at("s.t", batch=7).strip() == "s.t v"
    assert asked == [("s.t", None, None, "before", None), ("s.t", None, None, None, 7)]
    macros.context["target"] = SimpleNamespace(type="databricks")
    with pytest.raises(stop, match="which has no tags; accepted: alluvium"):
        macros.at("s.t", tag="before")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "no version is given; accepted: one of version, timestamp, tag, batch"),
        (
            {"version": 1, "timestamp": "2025-01-31"},
            "version and timestamp are given; accepted: one of version, t",
        ),
        ({"version": -1}, "version is -1; accepted: a whole number"),
        ({"version": "1 union"}, 'version is "1 union"; accepted: a whole number'),
        ({"timestamp": "x' or '1"}, "accepted: a date, or a date and time in UTC"),
        (
            {"verion": 1},
            "unknown argument verion; accepted: version, timestamp, tag, batch; did you mean",
        ),
    ],
)
def test_what_it_does_not_accept(
    macros: Any, stop: type[Exception], given: dict[str, Any], said: str
) -> None:
    with pytest.raises(stop, match=r"alluvium\.at: ") as error:
        macros.at("s.t", **given)
    assert said in str(error.value)
