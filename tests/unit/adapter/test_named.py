"""dbt's own settings that name columns: what they mean to dbt-spark's macros, and unknown names."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.alluvium import named


@pytest.mark.parametrize(
    ("config", "lists"),
    [
        ({}, {}),
        ({"incremental_predicates": "a > 1"}, {"incremental_predicates": ["a > 1"]}),
        ({"incremental_predicates": ["a > 1"]}, {}),
        ({"predicates": ""}, {"predicates": None}),
        ({"merge_update_columns": "name"}, {"merge_update_columns": ["name"]}),
        ({"merge_update_columns": []}, {}),
        ({"merge_exclude_columns": "`na``me`"}, {"merge_exclude_columns": ["na`me"]}),
        ({"merge_exclude_columns": ["`a`", "b"]}, {"merge_exclude_columns": ["a", "b"]}),
        ({"partition_by": []}, {"partition_by": None}),
        ({"partition_by": ""}, {"partition_by": None}),
        ({"partition_by": "day"}, {"partition_by": ["day"]}),
        ({"partition_by": "day, `the, region`"}, {"partition_by": ["day", "`the, region`"]}),
        ({"partition_by": "days(at)"}, {"partition_by": ["days(at)"]}),
    ],
)
def test_what_dbt_spark_goes_through_letter_by_letter(config: Any, lists: Any) -> None:
    assert named.lists(config) == lists


UNKNOWN = "the model does not select"


@pytest.mark.parametrize(
    ("config", "strategy", "said"),
    [
        ({"unique_key": "ID", "merge_update_columns": ["`Na me`"]}, "merge", []),
        ({"unique_key": ["id", "idd"]}, "merge", [f"unique_key: {UNKNOWN} idd"]),
        ({"unique_key": "idd"}, "append", []),
        ({"unique_key": "at.day"}, "merge", []),  # a field, as dbt-spark takes it
        ({"unique_key": "`at.day`"}, "merge", [f"unique_key: {UNKNOWN} at.day"]),
        (
            {"merge_update_columns": ["na mee"], "merge_exclude_columns": "x"},
            "merge",
            [
                f"merge_update_columns: {UNKNOWN} na mee; did you mean na me?",
                f"merge_exclude_columns: {UNKNOWN} x",
            ],
        ),
        ({"partition_by": "id, x"}, None, [f"partition_by: {UNKNOWN} x"]),
        ({"partition_by": ["x"]}, "insert_overwrite", [f"partition_by: {UNKNOWN} x"]),
        ({"partition_by": "bucket(4, id)", "file_format": "iceberg"}, "merge", []),
    ],
)
def test_unknown_names(config: Any, strategy: str | None, said: list[str]) -> None:
    assert named.unknown(config, strategy, ["id", "na me", "at"]) == said


def test_names_of_a_table_that_is_there_are_known() -> None:
    config = {"merge_exclude_columns": ["old"], "partition_by": "day"}
    assert named.unknown(config, "merge", ["id"], ["id", "old"]) == []


def test_identifiers_of_columns() -> None:
    columns = ["order id", "a`b", "s"]
    given = ["`order id`", "ORDER ID", "a`b", "`a``b`", "s.field", "`s`.field"]
    found = ["`order id`", "`ORDER ID`", "`a``b`", "`a``b`", "s.field", "`s`.field"]
    assert named.identifiers(given, columns) == found
    assert named.identifiers(None, columns) == named.identifiers("", columns) == []
