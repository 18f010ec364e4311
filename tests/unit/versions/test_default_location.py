"""A table that is made without a place lies in its schema's folder, on its file system."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from alluvium.delta.refs.unregistered import default_location


def session(location: str) -> Any:
    """What the catalog says of a schema."""
    database = SimpleNamespace(locationUri=lambda: location)
    catalog = SimpleNamespace(
        databaseExists=lambda name: name == "shop", getDatabaseMetadata=lambda _: database
    )
    state = SimpleNamespace(catalog=lambda: catalog)
    return SimpleNamespace(
        _jsparkSession=SimpleNamespace(sessionState=lambda: state),
        conf=SimpleNamespace(get={"spark.sql.warehouse.dir": "s3a://lake/a b"}.__getitem__),
    )


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ("s3a://lake/warehouse/shop.db", "s3a://lake/warehouse/shop.db/orders"),
        ("s3a://lake/a%20b/shop.db/", "s3a://lake/a b/shop.db/orders"),
        ("abfss://c@host/shop.db", "abfss://c@host/shop.db/orders"),
        ("file:/home/a%20b/shop.db", "/home/a b/shop.db/orders"),
    ],
)
def test_a_table_lies_in_its_schemas_file_system(schema: str, place: str) -> None:
    assert default_location(session(schema), "shop", "Orders") == place
    # Where Spark would make the schema.
    there = "s3a://lake/a b/new.db/orders"
    assert default_location(session(schema), "New", "Orders") == there
    assert default_location(session(schema), "shop", "Orders", "s3a://b/x/") == "s3a://b/x/Orders"
