"""Seeds reach the table as they stand in the file, compared with what pandas reads."""

from __future__ import annotations

import csv
import datetime as dt
import io
from decimal import Decimal

import pytest
from dbt.tests.util import run_dbt

ROWS = [
    ("id", "a-text", "select", "n", "price", "flag", "day", "at"),
    (1, "it's", "x", 1, "10.10", "true", "2024-02-29", "2024-02-29 23:59:59.123456"),
    (2, 'say "hi"', "back\\slash", 2, "0.30", "false", "1969-12-31", "1969-12-31 00:00:00"),
    (3, "naïve 🌊 中", "a\nb", "", "-1.05", "", "", ""),
    (4, "%s ? {{ x }} ${y}", "", 4, "", "true", "2024-01-01", "2024-01-01 00:00:00"),
]


def as_csv(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


PROPERTIES = """
seeds:
  - name: tricky
    config:
      quote_columns: true
      column_types: {price: "decimal(10,2)", n: int, at: timestamp}
  - name: bad
    config:
      column_types: {id: int}
"""


@pytest.mark.spark
class TestSeeds:
    @pytest.fixture(scope="class")
    def seeds(self):
        return {
            "tricky.csv": as_csv(ROWS),
            "bad.csv": "id\n1\nx\n",
            "empty.csv": "id,name\n",
            "properties.yml": PROPERTIES,
        }

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"seeds": {"quote_columns": False}}

    def test_values_and_types(self, project):
        results = {one.node.name: one for one in run_dbt(["seed"], expect_pass=False)}
        assert {name for name, one in results.items() if one.status == "success"} == {
            *("tricky", "empty")
        }
        assert "CAST_INVALID_INPUT" in results["bad"].message  # a value that does not fit
        assert project.run_sql("select count(*) from {schema}.empty", fetch="one") == (0,)
        for is_there in (False, True):
            if is_there:
                run_dbt(["seed", "--select", "tricky"])
            rows = project.run_sql("select * from {schema}.tricky order by id", fetch="all")
            assert rows == [
                (
                    1,
                    "it's",
                    "x",
                    1,
                    Decimal("10.10"),
                    True,
                    dt.date(2024, 2, 29),
                    dt.datetime(2024, 2, 29, 23, 59, 59, 123456),
                ),
                (
                    2,
                    'say "hi"',
                    "back\\slash",
                    2,
                    Decimal("0.30"),
                    False,
                    dt.date(1969, 12, 31),
                    dt.datetime(1969, 12, 31),
                ),
                (3, "naïve 🌊 中", "a\nb", None, Decimal("-1.05"), None, None, None),
                (
                    4,
                    "%s ? {{ x }} ${y}",
                    None,
                    4,
                    None,
                    True,
                    dt.date(2024, 1, 1),
                    dt.datetime(2024, 1, 1),
                ),
            ]
        described = project.run_sql("describe {schema}.tricky", fetch="all")
        assert [(row[0], row[1]) for row in described] == [
            ("id", "bigint"),
            ("a-text", "string"),
            ("select", "string"),
            ("n", "int"),
            ("price", "decimal(10,2)"),
            ("flag", "boolean"),
            ("day", "date"),
            ("at", "timestamp"),
        ]
