"""The history of a candidate, and of the table that shows it."""

from __future__ import annotations

import pytest
from functional import both_readings
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.delta.log.commit_files import TableLog
from alluvium.merge import progress
from alluvium.publish.publish import checkout, publish
from alluvium.report.log_lines import log_lines, names, version_lines

pytestmark = pytest.mark.spark


def test_head_of_a_candidate_is_what_its_published_table_shows(spark: SparkSession) -> None:
    spark.sql("create schema if not exists logged")
    spark.sql("create table logged.wap (id int, v string) using delta")
    app = progress.app_id("model.mine.items_wap", log.table_id(spark, "logged.wap"))
    merged = {"txnAppId": app, "txnVersion": "17"}
    for key, value in merged.items():
        spark.conf.set(f"spark.databricks.delta.write.{key}", value)
    spark.sql("insert into logged.wap values (1, 'a'), (2, 'b')")
    for key in merged:
        spark.conf.unset(f"spark.databricks.delta.write.{key}")
    note = {"candidate": "model.mine.items_wap", "tests": 3}
    publish(spark, "logged.wap", "logged.items", None, note, {})
    spark.sql("delete from logged.wap where id = 1")
    shown = names(spark, TableLog(spark, "logged.wap"), {"items": "logged.items"})
    assert shown == {1: ["HEAD of items"]}
    newest, tested, first = log_lines(TableLog(spark, "logged.wap"), "items_wap", pointers=shown)
    assert newest.startswith("2  ")
    assert "DELETE  +0 -1 rows" in newest
    assert tested.startswith("1 (HEAD of items)  ")
    assert "WRITE  batch 17 of items_wap  +2 -0 rows" in tested
    assert "rows" not in first
    own = names(spark, TableLog(spark, "logged.items"), {})
    head = next(log_lines(TableLog(spark, "logged.items"), "items", limit=1, pointers=own))
    assert head.split()[1] == "(HEAD)"
    assert "shows version 1 of items_wap  batch 17  +2 -0 rows" in head
    for name in ("wap", "items"):
        both_readings.agree(spark, f"logged.{name}", {"sort_by": "id"})
    checkout(spark, "logged.wap", "logged.items", 2, hold=None).apply()
    head = next(log_lines(TableLog(spark, "logged.items"), "items", limit=1, pointers=own))
    assert "shows version 2 of its candidate  +0 -1 rows" in head
    with pytest.raises(
        ValueError, match=r"accepted: the versions of logged\.wap that its log tells"
    ):
        list(version_lines(TableLog(spark, "logged.wap"), "items_wap", 3))
