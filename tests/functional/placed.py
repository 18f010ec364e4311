"""A small project whose landing folder and warehouse lie where a test says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import yaml
from deltalake import DeltaTable
from functional.delta_rs import by_query
from functional.runner import Project, add_macros
from pyarrow import fs
from pyspark import SparkContext
from support import s3

ORDERS = """
select o.*, _batch_after, _batch_through
from {{ alluvium.new_events(ref('events'), 'orders_wap') }}
lateral view inline(array(from_json(_value, 'id bigint, op string, v bigint'))) o
"""
META = {
    "alluvium_merge": {"order_by": "v", "delete_when": "op = 'D'"},
    "alluvium_layout": {"sort_by": ["id"], "fan_in": 2},
}
FILES = {
    "models/events.sql": "{{ config(materialized='streaming_table') }}"
    " select * from {{ source('landing', 'orders') }}",
    "models/orders_wap.sql": f"""
        {{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id',
                    meta={META}, post_hook="{{{{ alluvium.compact(this) }}}}") }}}}
        {ORDERS}""",
    "models/orders_wap.yml": yaml.safe_dump(
        {
            "models": [
                {
                    "name": "orders_wap",
                    "columns": [{"name": "id", "data_tests": ["not_null", "unique"]}],
                }
            ]
        }
    ),
    "models/orders.sql": "{{ config(materialized='published') }}"
    " select * from {{ ref('orders_wap') }}",
    # A table's VACUUM waits no longer.
    "macros/forget.sql": """
        {% macro forget(name) %}
          {%- do run_query('alter table ' ~ target.schema ~ '.' ~ name
            ~ " set tblproperties ('delta.deletedFileRetentionDuration' = 'interval 0 hours')") -%}
        {% endmacro %}
    """,
}


class PlacedProject(Project):
    """A project whose landing folder and warehouse lie where a test says.

    Attributes:
        warehouse: its URI, or its path.
        landing: the same of the landing folder.
        storage: the `storage_options` of delta-rs.
    """

    warehouse: str
    landing: str
    _files: fs.FileSystem
    storage: dict[str, str] | None

    def on_s3(self, server: s3.S3, warehouse: str) -> None:
        """Write all but the profile, which is called `p`. Landed files lie beside the warehouse."""
        self._files, self.storage = server.files(), server.delta_rs
        self._write(warehouse)

    def on_disk(self, warehouse: Path) -> None:
        """The same on a disk."""
        self._files, self.storage = fs.LocalFileSystem(), None
        self._write(str(warehouse))
        Path(self.landing).mkdir(parents=True)

    def _write(self, warehouse: str) -> None:
        self.warehouse = warehouse
        self.landing = f"{warehouse.rpartition('/')[0]}/landing/orders"
        stream = {"alluvium_stream": {"format": "json", "path": self.landing}}
        table = {"name": "orders", "config": {"meta": stream}}
        sources = yaml.safe_dump({"sources": [{"name": "landing", "tables": [table]}]})
        add_macros(self.root)
        config = {"name": "shop", "version": "0.1.0", "config-version": 2, "profile": "p"}
        config["flags"] = {"send_anonymous_usage_stats": False}
        self.write(
            {"dbt_project.yml": yaml.safe_dump(config), "models/sources.yml": sources, **FILES}
        )

    def land(self, number: int, rows: dict[int, int], *orders: dict[str, Any]) -> dict[int, int]:
        """Land a file of orders; gives the live rows behind them, of `rows` before."""
        folder = _path(self.landing)
        with self._files.open_output_stream(f"{folder}/{number}.json") as file:
            file.write("".join(f"{json.dumps(order)}\n" for order in orders).encode())
        found = dict(rows)
        for one in orders:
            if one["op"] == "D":
                del found[one["id"]]
            else:
                found[one["id"]] = one["v"]
        return found

    def merge_a_branch(self, number: int, rows: dict[int, int]) -> dict[int, int]:
        """Builds go to a branch, by the target `fix`; readers see it after the merge."""
        shutil.copytree(self.root / "target", self.root / "prod")
        self.operate("branch", name="fix", models=["orders_wap", "orders"])
        changed = self.land(number, rows, order(0, 3), order(60, 1), order(1, 3, "D"))
        self.dbt("build", "-s", "events")
        on_branch = ("-s", "orders_wap+", "--target", "fix", "--defer", "--state", "prod")
        self.dbt("build", *on_branch)
        for table in ("orders_wap", "orders"):
            assert self.rows(table, "shop__fix") == changed
            assert self.rows(table) == rows
        self.operate("merge_branch", name="fix", models="orders_wap")
        assert self.rows("orders_wap") == changed
        self.dbt("build")
        assert self.rows("orders") == self.rows("orders_wap") == changed
        return changed

    def table(self, name: str, schema: str = "shop") -> DeltaTable:
        # By the scheme that clones and published tables name files with.
        place = f"{self.warehouse}/{schema}.db/{name}"
        return DeltaTable(place, storage_options=self.storage)

    def delete_file(self, uri: str) -> None:
        self._files.delete_file(_path(uri))

    def write_file(self, uri: str, content: bytes) -> None:
        with self._files.open_output_stream(_path(uri)) as file:
            file.write(content)

    def files_below(self, uri: str) -> set[str]:
        """The files in a folder and below it, as URIs."""
        below = fs.FileSelector(_path(uri), recursive=True, allow_not_found=True)
        found = self._files.get_file_info(below)
        start = uri.removesuffix(_path(uri))
        return {f"{start}{one.path}" for one in found if one.is_file}

    def rows(self, name: str, schema: str = "shop") -> dict[int, int]:
        """What delta-rs reads: the value of each key."""
        query = "select id, v from t where not coalesce(_deleted, false)"
        found = by_query(self.table(name, schema), query).to_pylist()
        assert len({row["id"] for row in found}) == len(found)
        return {row["id"]: row["v"] for row in found}

    def operate(self, operation: str, **arguments: object) -> None:
        self.dbt("run-operation", f"alluvium.{operation}", "--args", json.dumps(arguments))


def tasks(which: str) -> int:
    """How many tasks the context had so far: `totalTasks`, or `failedTasks`."""
    context: Any = SparkContext._active_spark_context
    executors = context._jsc.sc().statusStore().executorList(False)
    return sum(getattr(executors.apply(at), which)() for at in range(executors.length()))


def _path(uri: str) -> str:
    return uri.removeprefix("s3a://")


def order(id: int, v: int, op: str = "U") -> dict[str, Any]:
    return {"id": id, "op": op, "v": v}
