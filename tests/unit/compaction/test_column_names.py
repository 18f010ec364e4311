"""Columns that a layout names and its table does not have."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql.types import LongType, StringType, StructField

from alluvium.delta.rewrite import automata
from alluvium.delta.rewrite.table_files import check_sort_key

FIELDS = [
    StructField("channel", StringType()),
    StructField("id", LongType()),
    StructField("day", StringType()),
]


@pytest.mark.parametrize(
    ("check", "known"),
    [(check_sort_key, "channel, id"), (automata.check, "channel, id, day")],
)
def test_a_column_that_is_misspelt_names_the_one_that_was_meant(
    check: Callable[..., None], known: str
) -> None:
    with pytest.raises(ValueError, match="no such column") as error:
        check(["Chanel", "nobody"], FIELDS, ["day"])
    key = str(error.value).partition(": ")[0]
    assert str(error.value) == (
        f"{key}: Chanel: no such column; accepted: {known}; did you mean channel?;"
        f" nobody: no such column; accepted: {known}"
    )
