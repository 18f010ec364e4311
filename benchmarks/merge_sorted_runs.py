"""How one Spark task merges sorted files fastest, and what sorting costs where they are not.

Run with `make bench-sorted-runs`. 32 files of 250,000 rows whose keys overlap become files of
1,000,000 rows in one task, as in a compaction: read, sort, write. Contenders, in alternating order:
Spark's sort with radix sort on (its default) and off, a k-way merge of Arrow batches in Python
(`mapInArrow`), which needs sorted inputs, and Spark reading and writing without any order, which is
what each of them adds to. Writes benchmarks/results/merge_sorted_runs.json.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from merging import charts
from merging.home import REPOSITORY, cpu_seconds, jvm_of, keep, make_home, provenance
from pyspark.sql import DataFrame, SparkSession

from alluvium.engine import session as engine

RESULTS = REPOSITORY / "benchmarks" / "results" / "merge_sorted_runs.json"
CHART = REPOSITORY / "docs" / "images" / "merge_sorted_runs.svg"
ROWS_PER_OUTPUT = 1_000_000
ARROW_BATCH = 16_384
# 200 services and 2,000 hosts, no two alike in their first letters; the rest is of one's own.
COLUMNS = {
    "service": "substr(sha1(string(int(pow(rand({seed}), 2) * 200))), 1, 12)",
    "host": "concat(substr(sha1(string(int(rand({seed}1) * 2000))), 1, 8), '.example.com')",
    "at": "timestamp_micros(1709251200000000 + bigint(rand({seed}2) * 86400000000))",
    "id": "xxhash64(id, {seed})",
    "message": "concat(sha1(string(id)), ' ', id)",
}
KEYS = {"strings": ("service", "host", "at"), "bigint": ("id",)}
SORT = "spark.sql.sort.enableRadixSort"
PLAIN, ARROW = "read and write only", "Arrow k-way"


def make(
    session: SparkSession, folder: Path, key: tuple[str, ...] | None, files: int, rows: int
) -> Path:
    """The files, each sorted by `key`, or as the rows came."""
    values = session.range(0, files * rows, 1, files).selectExpr(
        *(f"{sql.format(seed=7)} as {name}" for name, sql in COLUMNS.items())
    )
    if key:
        values = values.sortWithinPartitions(*key)
    values.write.parquet(str(folder))
    return folder


def parts(folder: Path) -> list[str]:
    return sorted(map(str, folder.glob("part-*.parquet")))


def plain(session: SparkSession, folder: Path) -> DataFrame:
    return session.read.parquet(*parts(folder)).coalesce(1)


def spark_sort(session: SparkSession, folder: Path, key: tuple[str, ...], radix: bool) -> DataFrame:
    session.conf.set(SORT, str(radix).lower())
    return plain(session, folder).sortWithinPartitions(*key)


def arrow_merge(session: SparkSession, folder: Path, key: tuple[str, ...]) -> DataFrame:
    paths = parts(folder)
    schema = session.read.parquet(paths[0]).schema
    return session.range(0, 1, 1, 1).mapInArrow(partial(_merged, paths=paths, key=key), schema)


def _merged(
    _: Iterator[pa.RecordBatch], paths: list[str], key: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """Rows up to the smallest last key of the batches at hand come next, from each of them."""
    runs = [pq.ParquetFile(path).iter_batches(ARROW_BATCH) for path in paths]
    heads = [(run, next(run, None)) for run in runs]
    heads = [(run, batch) for run, batch in heads if batch is not None]
    while heads:
        bound = min(_key(batch, -1, key) for _, batch in heads)
        ready, left = [], []
        for run, batch in heads:
            count = pc.sum(_up_to(batch, key, bound)).as_py()
            ready.append(batch.slice(0, count))
            rest = batch.slice(count)
            following = rest if rest.num_rows else next(run, None)
            if following is not None:
                left.append((run, following))
        heads = left
        table = pa.Table.from_batches(ready).sort_by([(name, "ascending") for name in key])
        yield from table.to_batches(max_chunksize=ARROW_BATCH)


def _key(batch: pa.RecordBatch, row: int, key: tuple[str, ...]) -> tuple[object, ...]:
    row = row % batch.num_rows
    return tuple(batch[name][row].as_py() for name in key)


def _up_to(batch: pa.RecordBatch, key: tuple[str, ...], bound: tuple[object, ...]) -> pa.Array:
    name, value = key[0], pa.scalar(bound[0], batch[key[0]].type)
    if len(key) == 1:
        return pc.less_equal(batch[name], value)
    rest = _up_to(batch, key[1:], bound[1:])
    return pc.or_(pc.less(batch[name], value), pc.and_(pc.equal(batch[name], value), rest))


def cores(size: int, cpu: list[float]) -> dict[str, object]:
    """CPU figures; none of Arrow, whose Python workers spend theirs where it is not seen whole."""
    middle = statistics.median(cpu)
    return {
        "cpu_seconds": round(middle, 2),
        "cpu_seconds_all": [round(one, 2) for one in cpu],
        "mb_per_core_second": round(size / 1e6 / middle, 1),
    }


def check(target: Path, key: tuple[str, ...]) -> None:
    order = [(name, "ascending") for name in key]
    last: tuple[object, ...] | None = None
    for path in parts(target):
        keys = pq.read_table(path, columns=list(key))
        ends = [tuple(keys[name][row].as_py() for name in key) for row in (0, -1)]
        if not keys.equals(keys.sort_by(order)) or (last is not None and ends[0] < last):
            raise SystemExit(f"{path} is not in order")
        last = ends[1]


def measure(
    session: SparkSession, folder: Path, name: str, sorted_: bool, options: argparse.Namespace
) -> Iterator[list[dict[str, object]]]:
    """The case's results so far, after each round."""
    key = KEYS[name]
    jvm = jvm_of(session)
    source = make(session, folder / "source", key if sorted_ else None, options.files, options.rows)
    contenders: dict[str, Callable[[], DataFrame]] = {
        "radix sort on": partial(spark_sort, session, source, key, True),
        "radix sort off": partial(spark_sort, session, source, key, False),
        PLAIN: partial(plain, session, source),
    }
    if sorted_:
        contenders[ARROW] = partial(arrow_merge, session, source, key)
    size = sum(Path(path).stat().st_size for path in parts(source))
    taken: dict[str, list[tuple[float, float]]] = {contender: [] for contender in contenders}
    for number in range(options.rounds):
        order = list(contenders) if number % 2 else list(reversed(contenders))
        for contender in order:
            target = folder / "target"
            before, started = cpu_seconds(jvm), time.perf_counter()
            rows = contenders[contender]()
            rows.write.option("maxRecordsPerFile", ROWS_PER_OUTPUT).parquet(str(target))
            seconds = time.perf_counter() - started
            taken[contender].append((seconds, cpu_seconds(jvm) - before))
            if not number and contender != PLAIN:
                check(target, key)
            shutil.rmtree(target)
            print(contender, taken[contender][-1], flush=True)
        yield [
            {
                "case": f"{name}, {'sorted' if sorted_ else 'unsorted'} inputs",
                "contender": contender,
                "seconds": round(statistics.median(wall for wall, _ in pairs), 2),
                "seconds_all": [round(wall, 2) for wall, _ in pairs],
                **({} if contender == ARROW else cores(size, [cpu for _, cpu in pairs])),
                "rows": options.files * options.rows,
                "bytes": size,
                "files": options.files,
                **provenance(),
            }
            for contender, pairs in taken.items()
        ]
    shutil.rmtree(source)


def warm_up(session: SparkSession, folder: Path) -> None:
    """Let the JVM compile what all contenders run."""
    for name, key in KEYS.items():
        source = make(session, folder / f"small-{name}", key, 2, 100_000)
        for radix in (True, False):
            spark_sort(session, source, key, radix).write.format("noop").mode("overwrite").save()
        arrow_merge(session, source, key).write.format("noop").mode("overwrite").save()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=32)
    parser.add_argument("--rows", type=int, default=250_000, help="of each file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keys", nargs="+", choices=KEYS, default=list(KEYS))
    parser.add_argument(
        "--inputs", nargs="+", choices=["sorted", "unsorted"], default=["sorted", "unsorted"]
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as name:
        folder = Path(name)
        conf = {
            "spark.sql.files.maxPartitionBytes": str(2**40),
            "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # as Delta writes
        }
        session = engine.new_session(engine.Settings(home=make_home(folder / "home"), conf=conf))
        warm_up(session, folder)
        for key in options.keys:
            for inputs in options.inputs:
                for measured in measure(session, folder, key, inputs == "sorted", options):
                    keep(RESULTS, measured)
        engine.stop()
    every = json.loads(RESULTS.read_text())
    title = f"32 files into sorted ones by one task, {every[-1]['machine']}"
    charts.panels(CHART, every, "seconds", "seconds", title, "radix sort on")


if __name__ == "__main__":
    main()
