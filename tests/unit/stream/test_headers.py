"""Headers of CSV files against the columns of a schema."""

from __future__ import annotations

import random

import pytest

from alluvium.ingest.headers import HeaderError, places, unnamed

SCHEMA = ["sku", "price", "at"]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (["sku", "price", "at"], [0, 1, 2]),
        (["at", "sku", "price"], [1, 2, 0]),
        (["AT", " Sku ", "more", "pricE"], [1, 3, 0]),
        (["sku", "at"], [0, None, 1]),
        (["sku", "price", "at", None, "", None], [0, 1, 2]),
        (["sku", "more", "more", "price", "at"], [0, 3, 4]),
    ],
)
def test_names_decide(header: list[str | None], expected: list[int | None]) -> None:
    assert places(header, SCHEMA) == expected


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ([], "none of the schema's columns"),
        (["A1", "9.50"], "none of the schema's columns"),
        (["sku", "PRICE", "price", "at"], "names price twice"),
        (["sku", "prise", "at"], "not have price and has prise"),
    ],
)
def test_a_header_that_may_lose_a_column(header: list[str | None], message: str) -> None:
    with pytest.raises(HeaderError, match=message):
        places(header, SCHEMA)


def test_any_order_gives_each_name_its_value() -> None:
    draw = random.Random(7)
    for _ in range(300):
        schema = [f"c{number}" for number in range(draw.randint(1, 6))]
        header = [*schema, *(f"x{number}" for number in range(draw.randint(0, 3)))]
        draw.shuffle(header)
        found = places(header, schema)
        assert [header[place] for place in found if place is not None] == schema


def test_columns_that_the_schema_does_not_name() -> None:
    header = ["sku", " New ", "", None, "PRICE", "other"]
    assert unnamed(header, ["Sku", "price", "at"]) == ["New", "other"]
