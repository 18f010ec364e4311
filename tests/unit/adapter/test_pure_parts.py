"""Parts of the adapter that need no Spark."""

from __future__ import annotations

import json

import pytest
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql.types import (
    ArrayType,
    DateType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from dbt.adapters.alluvium.column import AlluviumColumn, columns
from dbt.adapters.alluvium.figures import _WRITES, ModelResponse, message
from dbt.adapters.alluvium.relation import AlluviumRelation
from dbt.adapters.alluvium.verbs.describing import catalog_columns


@pytest.mark.parametrize(
    ("dtype", "kinds"),
    [
        ("int", {"integer", "number"}),
        ("bigint", {"integer", "number"}),
        ("tinyint", {"integer", "number"}),
        ("double", {"float", "number"}),
        ("decimal(10,2)", {"numeric", "number"}),
        ("string", {"string"}),
        ("varchar(20)", {"string"}),
        ("boolean", set()),
        ("array<int>", set()),
        ("struct<a:string>", set()),
        ("timestamp", set()),
    ],
)
def test_kinds_of_types(dtype: str, kinds: set[str]) -> None:
    column = AlluviumColumn("c", dtype)
    is_kind = {
        "integer": column.is_integer(),
        "float": column.is_float(),
        "numeric": column.is_numeric(),
        "number": column.is_number(),
        "string": column.is_string(),
    }
    assert {kind for kind, true in is_kind.items() if true} == kinds
    assert column.data_type == dtype


def test_texts_expand_to_longer_ones_only() -> None:
    short, long, text = (
        AlluviumColumn("c", dtype) for dtype in ("varchar(5)", "varchar(9)", "string")
    )
    assert short.can_expand_to(long)
    assert short.can_expand_to(text)
    assert not long.can_expand_to(short)
    assert not long.can_expand_to(long)
    assert not text.can_expand_to(long)
    assert not short.can_expand_to(AlluviumColumn("c", "int"))
    assert AlluviumColumn.string_type(9) == "varchar(9)"
    assert AlluviumColumn.string_type(text.string_size()) == "string"


def test_columns_by_their_types() -> None:
    struct = StructType([StructField("a b", LongType()), StructField("c`d", ArrayType(DateType()))])
    bound = {"__CHAR_VARCHAR_TYPE_STRING": "char(5)", "comment": "short"}
    fields = [
        StructField("#x", struct),
        StructField("`t`", MapType(StringType(), StructType([StructField("f", IntegerType())]))),
        StructField("c", StringType(), metadata=bound),
    ]
    found = columns(fields, keeps_bounds=True)
    assert [one.dtype for one in found] == [
        "struct<`a b`:bigint,`c``d`:array<date>>",
        "map<string,struct<f:int>>",
        "char(5)",
    ]
    assert [one.quoted for one in found] == ["`#x`", "```t```", "`c`"]
    assert [one.comment for one in found] == [None, None, "short"]
    assert columns(fields, keeps_bounds=False)[2].dtype == "string"


def test_catalog_of_a_described_table() -> None:
    relation = AlluviumRelation.create(schema="s", identifier="t", type="table")
    found = catalog_columns(
        relation,
        [
            AlluviumColumn("id", "bigint", comment="the key"),
            AlluviumColumn("# Partition Information", "int"),
            AlluviumColumn("day", "date"),
        ],
        [
            ("id", "bigint", "the key"),
            ("# Partition Information", "int", None),
            ("day", "date", None),
            ("# Partition Information", "", ""),
            ("# col_name", "data_type", "comment"),
            ("day", "date", ""),
            ("", "", ""),
            ("# Detailed Table Information", "", ""),
            ("Owner", "me", ""),
            ("Comment", "about it", ""),
            ("Statistics", "1764 bytes, 3 rows", ""),
            ("", "", ""),
            ("# Column Default Values", "", ""),
            ("Owner", "string", "'nobody'"),
        ],
    )
    assert [(c["column_name"], c["column_type"], c["column_comment"]) for c in found] == [
        ("id", "bigint", "the key"),
        ("# Partition Information", "int", None),
        ("day", "date", None),
    ]
    assert [c["column_index"] for c in found] == [1, 2, 3]
    assert found[0]["table_owner"] == "me"
    assert found[0]["table_comment"] == "about it"
    assert found[0]["stats:rows:value"] == 3
    assert found[0]["stats:bytes:value"] == 1764


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ("create or replace table s.t using delta as select 1", "s.t"),
        ("/* dbt */\n-- a comment\ncreate table `s`.`t` as select 1", "`s`.`t`"),
        ("insert into table s.t select 1", "s.t"),
        ("insert overwrite s.t select 1", "s.t"),
        ("MERGE INTO s.t as d using x", "s.t"),
        ("merge with schema evolution into s.t using x", "s.t"),
        ("delete from s.t", "s.t"),
        ("update s.`odd ``name` set a = 1", "s.`odd ``name`"),
        ("create or replace view s.v as select 1", None),
        ("select 'insert into s.t'", None),
        ("describe table s.t", None),
    ],
)
def test_the_table_that_a_statement_writes(sql: str, table: str | None) -> None:
    found = _WRITES.match(sql)
    assert (found["table"] if found else None) == table


def test_figures_in_run_results() -> None:
    said = message(rows=1234, files=1)
    response = ModelResponse(said, rows_affected=1234, files=1, bytes=99, seconds=0.5)
    assert str(response) == "OK 1,234 rows in 1 file"
    assert json.loads(json.dumps(response.to_dict(omit_none=True))) == {
        "_message": "OK 1,234 rows in 1 file",
        "code": "OK",
        "rows_affected": 1234,
        "files": 1,
        "bytes": 99,
        "seconds": 0.5,
    }
    assert str(ModelResponse(message(rows=None, files=None), seconds=0.1)) == "OK"


@pytest.mark.parametrize("quotes", [True, False])
@pytest.mark.parametrize("created", [True, False])
def test_relations_match_in_any_case(quotes: bool, created: bool) -> None:
    relation = AlluviumRelation.create(
        schema="analytics",
        identifier="Items",
        quote_policy={"schema": quotes, "identifier": quotes},
        dbt_created=created,
    )
    assert relation.matches(schema="Analytics", identifier="ITEMS")
    assert not relation.matches(schema="Analytics", identifier="item")
    assert not relation.matches(schema="Analytic", identifier="items")


def test_a_database_may_repeat_the_schema() -> None:
    assert AlluviumRelation.create(database="Raw", schema="raw").schema == "raw"
    with pytest.raises(DbtRuntimeError, match="Cannot set database"):
        AlluviumRelation.create(database="other", schema="raw")
