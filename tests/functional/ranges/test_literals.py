"""Literals in Spark and Delta: they come back as they went in, and files are skipped by them."""

from pathlib import Path

import pytest
from deltalake import DeltaTable
from functional.delta_rs import by_query
from pyspark.sql import SparkSession
from support.tagged import executions, newest_execution

from alluvium.ranges import canonical_texts, typed_literal

pytestmark = pytest.mark.spark

TEXTS = {
    "tinyint": ["-128", "0", "127"],
    "smallint": ["-32768", "0", "32767"],
    "int": ["-2147483648", "0", "2147483647"],
    "bigint": ["-9223372036854775808", "0", "9223372036854775807"],
    "float": [
        "-inf", "-3.4028234663852886e+38", "0.0", "1.401298464324817e-45", "0.10000000149011612",
        "3.4028234663852886e+38", "inf", "nan",
    ],
    "double": ["-inf", "-1.7976931348623157e+308", "0.0", "5e-324", "0.1", "inf", "nan"],
    "decimal(10,2)": ["-99999999.99", "0.00", "0.50", "99999999.99"],
    "decimal(38,0)": ["-" + "9" * 38, "0", "9" * 38],
    "decimal(38,10)": ["-" + "9" * 28 + ".0000000001", "0.5000000000", "7.0000000000"],
    "decimal(38,38)": ["-0." + "9" * 38, "0." + "0" * 38, "0." + "0" * 37 + "1"],
    "date": ["-0001-01-01", "0001-01-01", "1970-01-01", "9999-12-31", "+10000-01-01"],
    "timestamp": [
        "-290308-12-21 19:59:05.224192", "-0001-01-01 00:00:00.000001",
        "2020-10-25 00:30:00.123456", "2020-10-25 01:30:00.123456",
        "+294247-01-10 04:00:54.775807",
    ],
    "timestamp_ntz": [
        "-0001-01-01 00:00:00.000001", "2020-10-25 01:30:00.123456", "+10000-01-01 00:00:00.000000",
    ],
    "string": [
        "", "\x00\x01", "${spark.app.name}", "' or 1=1 --", "507f1f77bcf86cd799439011", "\\'",
        "\\u0041\\", "a\nb\t", "{{ x }} %s", "é", "😀", "p" * 40 + "'",
    ],
}  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("escaped", ["false", "true"])
def test_round_trip(spark: SparkSession, zone: str, escaped: str) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", zone)
    other.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
    every = [(spark_type, text) for spark_type, texts in TEXTS.items() for text in texts]
    columns = ", ".join(
        f"cast({typed_literal(text, spark_type)} as {spark_type}) as v{place}"
        for place, (spark_type, text) in enumerate(every)
    )
    rows = other.sql(f"select {columns}")
    for field, found, (spark_type, text) in zip(
        rows.schema, rows.toArrow().columns, every, strict=True
    ):
        assert field.dataType.simpleString() == spark_type
        assert canonical_texts(found.combine_chunks()) == [text]


# Of the others `test_fragments.py` asks what Delta skips.
QUICK = ("string", "timestamp")


def data_files_read(spark: SparkSession, statement: str) -> int:
    """Most files that one scan of a Parquet table read while the statement ran."""
    store = spark._jsparkSession.sharedState().statusStore()

    before = newest_execution(spark)
    spark.sql(statement).collect()
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    read = []
    for execution in executions(spark, before):
        nodes = store.planGraph(execution).allNodes()
        values = store.executionMetrics(execution)
        for place in range(nodes.size()):
            node = nodes.apply(place)
            if not node.name().startswith("Scan parquet"):
                continue
            for index in range(node.metrics().size()):
                metric = node.metrics().apply(index)
                if metric.name() == "number of files read" and values.contains(
                    metric.accumulatorId()
                ):
                    read.append(int(values.apply(metric.accumulatorId()).replace(",", "")))
    return max(read)


# Delta cannot write the statistics of the smallest timestamp (it overflows).
STORED = TEXTS | {"timestamp": TEXTS["timestamp"][1:-1]}


@pytest.mark.parametrize(
    "spark_type",
    [pytest.param(one, marks=() if one in QUICK else pytest.mark.slow) for one in sorted(STORED)],
)
def test_delta_skips_files(spark: SparkSession, spark_type: str, tmp_path: Path) -> None:
    table = f"delta.`{tmp_path}/t`"
    literals = [typed_literal(text, spark_type) for text in STORED[spark_type]]
    rows = " union all ".join(
        f"select cast({literal} as {spark_type}) as v, {i} as id"
        for i, literal in enumerate(literals)
    )
    data = spark.sql(rows).repartitionByRange(len(literals), "id")
    data.write.format("delta").save(f"{tmp_path}/t")
    assert len(DeltaTable(tmp_path / "t").file_uris()) == len(literals)
    queries = [
        f"select id, {i} as i from {table} t where"
        f" (t.v between {literal} and {literal} or t.v between {literal} and {literal})"
        for i, literal in enumerate(literals)
    ]
    found = spark.sql(" union all ".join(queries)).collect()
    assert sorted(found) == [(i, i) for i in range(len(literals))]
    for query in queries:
        assert len(spark.sql(query).inputFiles()) == 1, query
    # A merge tells the same; one literal is enough, as it takes seconds.
    literal = literals[-1]
    read = data_files_read(
        spark,
        f"merge into {table} t using (select {literal} as v) s on t.v = s.v and "
        f"(t.v between {literal} and {literal} or t.v between {literal} and {literal}) "
        "when matched then update set id = -1",
    )
    assert read == 1
    changed = by_query(DeltaTable(tmp_path / "t"), "select count(*) as n from t where id = -1")
    assert changed["n"].to_pylist() == [1]
