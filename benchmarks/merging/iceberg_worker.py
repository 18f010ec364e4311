"""Merges into Iceberg tables, in a Spark that Iceberg has a runtime for; started by `Iceberg`.

Its standard input gives a task a line, as JSON; each is answered with a line of JSON.

`{"table": folder, "batch": folder, "key": column, "digest": sql}`: merge the batch into an Iceberg
table of the folder's data files, which is made once, run the query on it, and put it back. Answers
`seconds` of the merge, and the query's row as `state`.
"""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
PROPERTIES = {
    "format-version": "3",  # deletion vectors
    "write.merge.mode": "merge-on-read",
}


def start(folder: str) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.jars.packages", RUNTIME)
    for key, value in {
        "spark.driver.memory": "2g",
        "spark.sql.extensions": EXTENSIONS,
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": f"{folder}/iceberg",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def table_of(session: SparkSession, folder: str) -> str:
    """The Iceberg table of this folder's data files, made when first asked for."""
    name = f"ice.bench.t{Path(folder).name.replace('-', '_')}"
    if not session.catalog.tableExists(name):
        # Iceberg keeps that name for itself.
        schema = session.read.parquet(folder).limit(0).drop("_deleted")
        writer = schema.writeTo(name)
        for key, value in PROPERTIES.items():
            writer = writer.tableProperty(key, value)
        writer.create()
        session.sql(
            f"call ice.system.add_files(table => '{name}', source_table => '`parquet`.`{folder}`')"
        )
    return name


def merge(session: SparkSession, task: dict) -> dict:
    name = table_of(session, task["table"])
    before = session.sql(f"select snapshot_id from {name}.refs where name = 'main'").first()[0]
    key = task["key"]
    columns = list(session.table(name).columns)
    sets = ", ".join(f"t.{column} = s.{column}" for column in columns)
    values = ", ".join(f"s.{column}" for column in columns)
    started = time.perf_counter()
    session.sql(
        f"merge into {name} t using parquet.`{task['batch']}` s on s.{key} = t.{key}"
        f" when matched then update set {sets}"
        f" when not matched then insert ({', '.join(columns)}) values ({values})"
    ).collect()
    seconds = time.perf_counter() - started
    row = session.sql(task["digest"].format(table=name)).first()
    session.sql(f"call ice.system.rollback_to_snapshot('{name.removeprefix('ice.')}', {before})")
    return {"seconds": seconds, "state": [str(value) for value in row]}


def main() -> None:
    session = start(sys.argv[1])
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(merge(session, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
