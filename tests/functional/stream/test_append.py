"""Bronze against a plain reading of the files."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import shutil
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from functional.delta_rs import by_query
from functional.stream.bronze import VIEW, Bronze
from pyspark.sql import SparkSession

from alluvium import ingest as stream
from alluvium.delta.log import arrivals
from alluvium.engine.files import Files
from alluvium.ingest import checkpoint as checkpoints
from alluvium.ingest import micro_batches
from alluvium.ingest.checkpoint import Checkpoint
from alluvium.ingest.events import Trigger
from alluvium.ingest.file_source import FileSource
from alluvium.ingest.micro_batches import MicroBatches
from alluvium.ingest.sources import open_source
from alluvium.ingest.topics import Topics

pytestmark = pytest.mark.spark
Make = Callable[..., Bronze]


def test_lines_are_exact(make_bronze: Make) -> None:
    bronze = make_bronze()
    bronze.land("a b[1]/x+y%20{z}.json", b'{"a": 1}\r\n\r\n{"a"\n\nlast')
    bronze.land("é/k=1/gz.json.gz", gzip.compress(b"\xef\xbb\xbfone\n\xff\xfe\xf0\r\nthr\ree\n"))
    # A time beyond 2262, where nanoseconds end.
    os.utime(bronze.landing / "é/k=1/gz.json.gz", (10**10, 10**10))
    members = gzip.compress(b"m0\nm1") + gzip.compress(b"-rest\nm2\n")
    bronze.land("members.gz", members)
    bronze.land("b.bz2", bz2.compress(b"p\nq\n"))
    bronze.land("empty.txt", b"")
    bronze.land("newlines.txt", b"\n\n\n")
    bronze.land("_hidden", b"no")
    bronze.land("big.txt", b"".join(b"line %d\n" % i for i in range(2_000)))
    for i in range(10):
        bronze.land(f"many/{i}.txt", b"".join(b"%d-%d\n" % (i, j) for j in range(i)))
    # A scan of the caller's would be split at this; the lines of a split file would be numbered
    # from each split's start.
    bronze.session = bronze.session.newSession()
    bronze.session.conf.set("spark.sql.files.maxPartitionBytes", "1000")
    figures = bronze.run()
    bronze.check()
    assert figures.rows == len(bronze.rows())
    assert figures.files == 15  # two more are empty
    assert figures.output_files == 1
    assert bronze.batches() == [1]
    files = [p for p in bronze.landing.rglob("*") if p.is_file() and p.name != "_hidden"]
    assert figures.bytes == sum(p.stat().st_size for p in files)
    place = ("é/k=1/gz.json.gz", 1)
    row = next(
        row for row in bronze.rows() if (row["_source_partition"], row["_source_offset"]) == place
    )
    assert row["_value"].startswith("\ufffd")
    modified = (bronze.landing / "é/k=1/gz.json.gz").stat().st_mtime
    assert abs(row["_source_timestamp"].timestamp() - modified) < 0.01
    stream.register_batch_view(bronze.session, bronze.feed, VIEW)
    bronze.check(bronze.session.table(f"`{VIEW}`").collect())
    assert [field.name for field in bronze.table.schema().fields] == [
        "_key",
        "_value",
        "_headers",
        "_source_partition",
        "_source_offset",
        "_source_timestamp",
        "_batch_id",
    ]


@pytest.mark.proves("files", on="embedded")
def test_from_run_to_run_each_place_comes_once(make_bronze: Make) -> None:
    """A walk through what a source and a checkpoint may be; unit tests have where a run begins."""
    bronze = make_bronze()
    # The source does not exist yet.
    figures = bronze.run()
    assert (figures.rows, figures.batch_id, figures.absent) == (0, None, str(bronze.landing))
    assert bronze.rows() == []
    bronze.landing.mkdir()
    assert bronze.run().batch_id is None
    bronze.land("a/1.txt", b"a\nb\n")
    bronze.land("2.txt", b"c\n")
    bronze.land("3.txt", b"d\ne\nf\n")
    figures = bronze.run()
    assert (figures.rows, figures.batch_id) == (6, 1)
    bronze.check()
    # The folder is renamed, and path follows: nothing new is no commit.
    versions = bronze.versions()
    bronze.landing.rename(bronze.root / "moved")
    assert bronze.run().absent == str(bronze.landing)
    bronze.block = {"path": "moved"}
    jobs = bronze.session.sparkContext._jsc.sc().dagScheduler()
    before = jobs.numTotalJobs()
    assert bronze.run().line("t").startswith("t: up to date")
    assert jobs.numTotalJobs() == before
    assert bronze.versions() == versions
    bronze.block = {}
    (bronze.root / "moved").rename(bronze.landing)
    shutil.copytree(bronze.checkpoint, bronze.root / "backup")
    # The checkpoint knows what was deleted since; a file whose time lies far back is new.
    bronze.session.sql(f"delete from {bronze.name} where _value in ('c', 'e')")
    bronze.land("4.txt", b"g\n")
    os.utime(bronze.landing / "4.txt", (0, 0))
    figures = bronze.run()
    assert (figures.rows, figures.batch_id) == (1, 2)
    note = bronze.table.history(1)[0]["userMetadata"]
    assert json.loads(note) == {"alluvium_stream": {"batch_id": 2, "files": 1, "bytes": 2}}
    # A checkpoint out of a backup is behind the table.
    bronze.lose_checkpoint()
    shutil.copytree(bronze.root / "backup", bronze.checkpoint)
    bronze.land("5.txt", b"h\n")
    figures = bronze.run()
    assert (figures.rows, figures.batch_id) == (1, 3)
    # So is one that another one came after.
    shutil.copytree(bronze.checkpoint, bronze.root / "later")
    bronze.lose_checkpoint()
    bronze.land("6.txt", b"i\n")
    assert bronze.run().files == 3  # with those whose rows were deleted
    bronze.lose_checkpoint()
    (bronze.root / "later").rename(bronze.checkpoint)
    bronze.land("7.txt", b"j\n")
    assert bronze.run().rows == 1
    assert sorted(row["_value"] for row in bronze.rows()) == list("abcdefghij")


def test_where_the_table_tells_what_was_read(make_bronze: Make) -> None:
    """The same with a checkpoint that is lost or damaged, and a table that began again."""
    properties = {"delta.appendOnly": "false", "delta.enableDeletionVectors": "true"}
    bronze = make_bronze(target={"tblproperties": properties})
    aside = bronze.root / "aside"
    bronze.land("a/1.txt", b"a\nb\n")
    bronze.land("2.txt", b"c\nd\n")
    bronze.run()
    bronze.land("5.txt", b"h\n")
    assert bronze.run().batch_id == 2
    # Bronze lacks what was deleted, and no more: a file may be away, one deleted too. Deleted rows
    # do not bring their batch ids back.
    version = bronze.table.version()
    gone = "_value = 'c' or _source_partition = '5.txt'"
    bronze.session.sql(f"delete from {bronze.name} where {gone}")
    aside.mkdir()
    (bronze.landing / "a").rename(aside / "a")
    (bronze.landing / "5.txt").rename(aside / "5.txt")
    bronze.lose_checkpoint()
    # A narrower path, whose disk is away, and back later: names begin where they did.
    bronze.block = {"path": "landing/a"}
    assert bronze.run().batch_id is None
    (bronze.landing / "a").mkdir()
    assert bronze.run().batch_id is None
    (aside / "a").rename(bronze.landing / "a")
    assert bronze.run().batch_id is None
    (bronze.landing / "a").rename(aside / "a")
    bronze.block = {}
    figures = bronze.run()
    assert (figures.rows, figures.files, figures.batch_id) == (1, 1, 3)
    # A file that was away is put back, and a RESTORE brings what the checkpoint never saw.
    bronze.session.sql(f"restore table {bronze.name} to version as of {version}")
    (aside / "a").rename(bronze.landing / "a")
    (aside / "5.txt").rename(bronze.landing / "5.txt")
    assert bronze.run().batch_id is None
    # A damaged checkpoint says so, and what to do: then its folder is lost and the pointer is not.
    [ledger] = bronze.checkpoint.glob("*/files/*.all")
    ledger.write_text(ledger.read_text()[:-3])
    with pytest.raises(stream.StreamError, match="Delete the folder") as error:
        bronze.run()
    shutil.rmtree(str(error.value).split("folder ")[1].split(":")[0])
    bronze.land("6.txt", b"i\n")
    figures = bronze.run()
    assert (figures.rows, figures.files, figures.batch_id) == (1, 1, 4)
    bronze.check()
    # Start again from the source: ids go on, the table is replaced in one commit.
    versions = bronze.versions()
    figures = bronze.run(full_refresh=True)
    assert (figures.files, figures.batch_id) == (4, 5)
    assert bronze.batches() == [5]
    assert bronze.versions() == versions + 1
    bronze.check()
    assert bronze.table.metadata().configuration["delta.appendOnly"] == "false"
    # A dropped table starts again, above the dropped one's ids.
    bronze.session.sql(f"drop table {bronze.name}")
    bronze.land("7.txt", b"j\n")
    assert bronze.run().batch_id == 6
    bronze.check()


def test_a_path_that_begins_elsewhere_doubles_nothing(make_bronze: Make) -> None:
    bronze = make_bronze()
    bronze.land("orders/1.json", b"a\n")
    bronze.land("orders/g/2.json", b"b\n")
    assert bronze.run().rows == 2
    # Narrower, with and without a new file: names stay those of the first folder.
    bronze.block = {"path": "landing/orders"}
    assert bronze.run().batch_id is None
    bronze.land("orders/3.json", b"c\n")
    assert bronze.run().rows == 1
    bronze.check()
    # Wider, as a URL with a link in it: what lies outside has a name of its own.
    bronze.land("../others/1.json", b"d\n")
    (bronze.root / "others/same").symlink_to(bronze.landing / "orders")
    (bronze.root / "aside").mkdir()
    (bronze.root / "aside/link").symlink_to(bronze.root)
    bronze.block = {"path": f"file://{bronze.root}/aside/link/[lo]*/"}
    assert bronze.run().rows == 1
    # Some of the folders, then all; and a glob of the files of one, which then finds more.
    globs = ("landing/orders/g/*.json", "landing/*/*/*.json", "landing/orders/*.json")
    for path in (*globs, "landing/orders/*", "[lo]*/"):
        bronze.block = {"path": path}
        assert bronze.run().batch_id is None
    names = {"orders/1.json", "orders/g/2.json", "orders/3.json", "../others/1.json"}
    assert {row["_source_partition"] for row in bronze.rows()} == names
    # A new file has a link beside it, and a folder one that another link leads to.
    bronze.land("orders/days/4.json", b"e\n")
    bronze.land("orders/days/5.json", b"f\n")
    (bronze.landing / "orders/newest.json").symlink_to("days/4.json")
    (bronze.landing / "orders/today").symlink_to("days")
    assert bronze.run().rows == 2
    names |= {"orders/days/4.json", "orders/days/5.json"}
    assert {row["_source_partition"] for row in bronze.rows()} == names
    # What a link leads to, which was read below it.
    bronze.land("../disk/6.json", b"g\n")
    (bronze.landing / "orders/disk").symlink_to(bronze.root / "disk")
    bronze.block = {"path": "landing"}
    assert bronze.run().rows == 1
    bronze.block = {"path": "landing/orders/disk"}
    bronze.land("../disk/7.json", b"h\n")
    assert bronze.run().rows == 1
    bronze.block = {"path": "landing"}
    assert bronze.run().batch_id is None
    # In front of a pattern, a folder whose own name reads as one.
    (bronze.landing / "odd").symlink_to(bronze.root / "odd[1]")
    bronze.land("../odd[1]/8.json", b"i\n")
    bronze.block = {"path": "landing/odd/*.json"}
    assert bronze.run().rows == 1
    names |= {"orders/disk/6.json", "../disk/7.json", "../odd[1]/8.json"}
    assert {row["_source_partition"] for row in bronze.rows()} == names
    # A link that turns while a run goes on: that run reads what it has listed.
    link, trigger = bronze.root / "day", FileSource.trigger
    for day in ("i", "ii"):
        bronze.land(f"../days/{day}/1.json", f"{day}\n".encode())

    def turned(*given: Any) -> Any:
        link.unlink()
        link.symlink_to("days/ii")
        return trigger(*given)

    link.symlink_to("days/i")
    bronze.block = {"path": "day"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileSource, "trigger", turned)
        assert bronze.run().rows == 1
    assert bronze.run().rows == 1
    found = {row["_source_partition"]: row["_value"] for row in bronze.rows()}
    assert [found[f"../days/{day}/1.json"] for day in ("i", "ii")] == ["i", "ii"]


@pytest.mark.slow
@pytest.mark.parametrize("lost", [False, True], ids=["", "its checkpoint is lost"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("landing", "landing/orders"),
        ("landing", "landing/orders/g"),
        ("landing/orders/g/*.json", "landing/orders/*/*.json"),
        ("landing/orders", "landing/../landing/*"),
        ("landing/orders/g", "."),
        ("landing/orders/g/2.json", "landing"),
        ("landing", "landing/orders/g/2.json"),
        ("landing/orders", "link"),
        ("link", "landing"),
        ("landing", "landing/linked"),
        ("landing/*/*/*.json", "landing/linked/*/*.json"),
        ("landing/linked/g", "landing/linked"),
        ("landing", "disk"),
    ],
)
def test_paths_of_the_same_files(make_bronze: Make, before: str, after: str, lost: bool) -> None:
    bronze = make_bronze(block={"path": before, "options": {"pathGlobFilter": "[1-4].json"}})
    below = "orders/g"
    if after == "disk" or "linked" in after:
        # What lies below a link has another place than its name.
        bronze.land("../disk/g/2.json", b"b\n")
        (bronze.root / "landing/linked").symlink_to(bronze.root / "disk")
        below = "linked/g"
    bronze.land(f"{below}/2.json", b"b\n")
    if "link" in (before, after):
        (bronze.root / "link").symlink_to(bronze.landing / "orders")
    assert bronze.run().rows == 1
    if lost:
        bronze.lose_checkpoint()
    bronze.block["path"] = after
    if lost and after == "disk":
        # Neither a name nor a link on the way tells that it is the same file.
        for _ in range(2):
            with pytest.raises(stream.SpecError, match=r"file g/2.json .*linked/g/2.json, whose"):
                bronze.run()
        return
    assert bronze.run().batch_id is None
    # What comes later has one name, whatever path found it.
    bronze.land(f"{below}/3.json", b"c\n")
    new = bronze.run().rows
    bronze.block["path"] = "landing"
    bronze.run()
    assert sorted(row["_value"] for row in bronze.rows()) == ["b", "c"]
    assert new == (0 if after.endswith("2.json") else 1)


@pytest.mark.slow
def test_copies_in_another_folder_stop_the_run(make_bronze: Make) -> None:
    bronze = make_bronze()
    bronze.land("1.json", b"a\n")
    bronze.run()
    shutil.copytree(bronze.landing, bronze.root / "copy")
    bronze.block = {"path": "copy"}
    versions = bronze.versions()
    with pytest.raises(stream.SpecError, match=r"path: file:.*copies or new events") as error:
        bronze.run()
    assert bronze.versions() == versions
    # As it says: for copies.
    shutil.rmtree(str(error.value).split("deleted the folder ")[1].split(": ")[0])
    assert bronze.run().batch_id is None
    # Home and landing folder were copied together.
    twin = bronze.root / "twin"
    shutil.copytree(bronze.root / "copy", twin / "copy")
    shutil.copytree(bronze.root / "checkpoints", twin / "checkpoints")
    bronze.root = twin
    assert bronze.run().batch_id is None


def test_min_rows_and_max_wait(make_bronze: Make) -> None:
    bronze = make_bronze(block={"min_rows": 3, "max_wait": "1 hour"})
    bronze.land("1.txt", b"a\nb\n")
    landed = (bronze.landing / "1.txt").stat().st_mtime
    line = bronze.run(now=lambda: landed + 60).line("t")
    assert line.startswith("t: waiting for min_rows (2 of 3 events) in ")
    bronze.land("2.txt", b"c\n")
    figures = bronze.run(now=lambda: landed + 60)
    assert (figures.rows, figures.waiting) == (3, 0)
    bronze.land("3.txt", b"d\n")
    landed = (bronze.landing / "3.txt").stat().st_mtime
    assert bronze.run(now=lambda: landed + 3599).waiting == 1
    assert bronze.run(now=lambda: landed + 3601).rows == 1
    assert bronze.run().waiting == 0
    bronze.check()


def check_freshness(bronze: Bronze) -> None:
    """What the log tells of what is merged up to a batch is what the rows tell."""
    session = bronze.session
    rows = by_query(bronze.table).to_pandas()
    times = rows.groupby("_batch_id")["_source_timestamp"].max()
    for through in range(5):
        waits = rows[rows["_batch_id"] > through]
        found = arrivals.freshness(session, bronze.name, through, ())
        assert found is not None
        assert found.newest == times.iloc[-1]
        assert found.merged == (times[times.index <= through].tolist() or [None])[-1]
        assert (found.batches, found.events) == (waits["_batch_id"].nunique(), len(waits))
        assert found.since == (None if waits.empty else waits["_source_timestamp"].min())
    assert arrivals.newest(session, bronze.name) == found.newest
    assert arrivals.newest_batch(session, bronze.name) == rows["_batch_id"].max()


def test_triggers_and_buckets(make_bronze: Make) -> None:
    sql = f"select *, cast(_value as int) % 2 as `Bucket.1` from `{VIEW}`"
    bronze = make_bronze(
        block={"max_files_per_trigger": 2}, sql=sql, target={"partition_by": ("bucket.1",)}
    )
    for i in range(5):
        bronze.land(f"{i}.txt", b"1\n2\n3\n4\n")
        os.utime(bronze.landing / f"{i}.txt", (1_700_000_000 + i, 1_700_000_000 + i))
    figures = bronze.run()
    assert (figures.rows, figures.batch_id) == (20, 3)
    check_freshness(bronze)
    assert figures.output_files == 6
    assert bronze.batches() == [1, 2, 3]
    assert bronze.table.metadata().partition_columns == ["Bucket.1"]
    # What is compacted has the same rows; what somebody deletes has to be looked for.
    bronze.session.sql(f"optimize {bronze.name}")
    assert arrivals.newest_batch(bronze.session, bronze.name) == 3
    bronze.session.sql(f"delete from {bronze.name} where _batch_id = 3")
    assert arrivals.newest_batch(bronze.session, bronze.name) is None


@pytest.mark.slow
def test_external_table(make_bronze: Make) -> None:
    bronze = make_bronze()
    location = str(bronze.root / "lake/t")
    bronze.target = {"location": location}
    bronze.land("1.txt", b"a\n")
    bronze.run()
    bronze.run(full_refresh=True)
    detail = bronze.session.sql(f"describe detail {bronze.name}").collect()[0]
    assert detail["location"].removeprefix("file:") == location
    bronze.check()


def test_query_and_its_changes(make_bronze: Make) -> None:
    schema = "a int, b string, _corrupt_record string"
    block = {"format": "json", "schema": schema, "options": {"allowComments": True}}
    bronze = make_bronze(block=block)
    # Two objects in one line are not one.
    bad = ['{"a": ', '{"a": 3}{"a": 4}', '{"a": 3}  x', "{'a': 3} [{'a': 4}]", '{"a": 3}, {"a": 4}']
    bad += ['{"a": 3}], [{"a": 4}', '{"a": 3, "c": {}}}, {"a": 4}']
    good = ['{"a": 1, "b": "x"}', '{"a": 1, "b": "}{"}', "{'a': 1}", '{"a": 1} ', '{"a": 1},']
    good += ['{"a": 1, "c": {"d": [{}, NaN]}, "e": 1}', '{"a": 1} ]', '{"a": 1, "c": {}} // {}']
    bronze.land("1.json", "\n".join([*bad, *good]).encode())
    columns = "* except (b), null as c, named_struct('k', 1, 'n', %s) as s"
    bronze.sql = f"select {columns % 'array(null)'} from `{VIEW}`"
    with pytest.raises(stream.StreamError, match=r"in s \(struct<k:int,n:array<void>>\), and no"):
        bronze.run()
    # That left no table, which would go on with those types.
    bronze.sql = f"select {columns % 'null'} from `{VIEW}`"
    bronze.run()
    # A new column is added, an absent one is NULL, and one without a type takes that of a value.
    bronze.land("2.json", b'{"a": 2, "b": "y"}\n')
    bronze.sql = (
        f"select * except (a), b as c, named_struct('k', 1, 'n', b) as s from `{VIEW}`"
        " where _value not like '%drop%'"
    )
    bronze.run()
    rows = {
        (r["_value"], r["a"], r["_corrupt_record"], r["b"], r["c"], r["s"]["n"])
        for r in bronze.rows()
    }
    assert rows == {
        *((line, None, line, None, None, None) for line in bad),
        *((line, 1, None, None, None, None) for line in good),
        ('{"a": 2, "b": "y"}', None, None, "y", "y", "y"),
    }
    bronze.sql = f"select * except (a), cast(a as string) as a from `{VIEW}`"
    with pytest.raises(stream.StreamError, match="a is int, the query returns string"):
        bronze.run()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sql": f"select _value, count(*) from `{VIEW}` group by 1"}, "cannot run on a stream"),
        # Parts of a stream come one after the other: what these leave out comes with no later one.
        ({"sql": f"select * from `{VIEW}` limit 2"}, "cannot run on a stream.*: LIMIT counts in"),
        ({"sql": f"select * from `{VIEW}` tablesample (5 rows)"}, "LIMIT counts in each part"),
        (
            {"sql": f"select a.* from `{VIEW}` a join `{VIEW}` b on a._value = b._value"},
            "a join of the stream with itself finds only",
        ),
        ({"sql": "select 1 as a"}, "does not read its stream"),
        ({"sql": f"select *, 1 as _batch_id from `{VIEW}`"}, "returns _batch_id"),
        ({"target": {"file_format": "parquet"}}, "file_format is 'parquet'"),
        ({"target": {"partition_by": ("nope",)}}, "partition_by names nope"),
    ],
)
def test_refused(make_bronze: Make, given: dict[str, Any], message: str) -> None:
    with pytest.raises(stream.StreamError, match=message):
        make_bronze(**given).run()


def test_a_header_is_one_line(make_bronze: Make) -> None:
    """Lines that end in CR alone are one line; Spark passes over lines of tabs."""
    bronze = make_bronze(block={"format": "csv", "options": {"header": True}})
    bronze.land("a.csv", b"id,name\r1,a\r2,b\r")
    with pytest.raises(stream.SpecError, match=r"the header of a\.csv is .*: it holds a CR"):
        bronze.run()
    bronze.land("a.csv", b"\t\t\r\nid,name\r\n1,a\r\n")
    assert bronze.run().rows == 1
    assert [row["_value"] for row in bronze.rows()] == ["1,a"]


@pytest.mark.parametrize("name", ["_value", "_SOURCE_OFFSET", "ID"])
def test_a_schema_has_names_of_its_own(session: SparkSession, name: str) -> None:
    block = {"format": "json", "path": "landing", "schema": f"id bigint, {name} string"}
    with pytest.raises(stream.SpecError, match=f"schema: .*{name}.*; accepted: other names"):
        stream.check_schema(stream.parse_spec("landing.feed", block))


def hadoop_blocks(*blocks: bytes) -> bytes:
    """A file that Hadoop's Snappy codec would write, of blocks with a chunk each."""
    parts = []
    for block in blocks:
        chunk = pa.compress(block, "snappy", asbytes=True)
        parts += [len(block).to_bytes(4, "big"), len(chunk).to_bytes(4, "big"), chunk]
    return b"".join(parts)


def test_damaged_file_stops_the_run_until_it_is_whole_or_gone(make_bronze: Make) -> None:
    bronze = make_bronze()
    bronze.land("1.txt", b"a\n")
    whole = gzip.compress(b"b\nc\n" * 2000)
    bronze.land("2.txt.gz", whole[:-30])
    with pytest.raises(stream.StreamError, match=r"2\.txt\.gz.*Unexpected end") as failed:
        bronze.run()
    assert "\n" not in str(failed.value)
    assert bronze.rows() == []
    (bronze.landing / "2.txt.gz").unlink()
    assert bronze.run().rows == 1
    # What was not read whole is read later, and so is a file of which nothing was read.
    bronze.land("2.txt.gz", whole)
    bronze.land("3.txt", b"")
    assert bronze.run().rows == 4000
    bronze.land("3.txt", b"d\n")
    bronze.land("4.txt.gz", b"no gzip")
    with pytest.raises(stream.StreamError, match=r"4\.txt\.gz"):
        bronze.run()
    bronze.land("4.txt.gz", gzip.compress(b"e\n"))
    assert bronze.run().rows == 2
    bronze.check()
    # Hadoop itself is silent of these: it would give no line, or the whole blocks alone.
    blocks = hadoop_blocks(b"f\n" * 9, b"g\n" * 9)
    for name, content in (
        ("5.snappy", blocks[:-3]),
        ("5.snappy", blocks[:10]),
        ("5.snappy", b"no blocks\n"),
        ("5.snappy", blocks + bytes(4) + blocks),
        ("5.lz4", pa.compress(b"g\n", "lz4", asbytes=True)),  # as its own tool writes it
    ):
        bronze.land(name, content)
        with pytest.raises(stream.StreamError, match=f"landing/{name} (is not in|has more behind)"):
            bronze.run()
        (bronze.landing / name).unlink()
    bronze.land("5.snappy", blocks)
    assert bronze.run().rows == 18


@pytest.mark.slow
def test_lost_checkpoint_of_a_table_without_system_columns(make_bronze: Make) -> None:
    bronze = make_bronze(sql=f"select _value from `{VIEW}`")
    bronze.land("1.txt", b"a\n")
    bronze.run()
    bronze.lose_checkpoint()
    with pytest.raises(stream.StreamError, match="--full-refresh"):
        bronze.run()
    assert len(bronze.rows()) == 1


@pytest.mark.slow
def test_parquet_rows(make_bronze: Make) -> None:
    bronze = make_bronze(block={"format": "parquet"})
    frame = bronze.session.range(5).selectExpr("id", "if(id = 3, null, id * 2) as `d``x`")
    frame.coalesce(1).write.parquet(str(bronze.landing / "one"))
    times = (
        "timestamp'2024-01-01 00:00:00.123456' as at, timestamp_ntz'2024-01-01 00:00:00.1' as on"
    )
    frame.selectExpr("id", f"struct({times}) as extra").write.parquet(str(bronze.landing / "two"))
    bronze.run()
    values = [json.loads(row["_value"]) for row in bronze.rows()]
    assert sorted(v["id"] for v in values) == sorted([*range(5), *range(5)])
    assert {"id": 3, "d`x": None, "extra": None} in values
    extra = {"at": "2024-01-01T00:00:00.123456Z", "on": "2024-01-01T00:00:00.100000"}
    assert {"id": 3, "d`x": None, "extra": extra} in values


def test_kafka_events_and_what_is_known(make_bronze: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    bronze = make_bronze()
    block: dict[str, Any] = {
        "format": "kafka",
        "topic": "a-b",
        "options": {"kafka.bootstrap.servers": "localhost:1"},
    }
    source = open_source(stream.parse_spec("k.t", block).resolve(bronze.root, None))
    ddl = (
        "key binary, value binary, topic string, partition int, offset bigint, timestamp "
        "timestamp, timestampType int, headers array<struct<key:string,value:binary>>"
    )
    rows = [
        (b"k", b"v", "a-b", 0, 3, None, 0, None),
        (b"k", b"v", "a-b", 0, 5, None, 0, [("h", b"1")]),
        (None, None, "a-b", 0, 6, None, 0, None),
        (b"\xff", b"\xfe", "a-b", 1, 0, None, 0, [("h", b"2")]),
    ]
    batch = bronze.session.createDataFrame(rows, ddl)
    trigger = source.trigger(batch, None, {}, 4)
    assert trigger is not None
    found = sorted(map(tuple, trigger.events.drop("_source_timestamp").collect()), key=str)
    assert ("k", "v", [("h", bytearray(b"1"))], "a-b-0", 5) in found
    assert (None, None, None, "a-b-0", 6) in found
    raw = [("h", bytearray(b"2")), ("_key", bytearray(b"\xff")), ("_value", bytearray(b"\xfe"))]
    assert ("\ufffd", "\ufffd", raw, "a-b-1", 0) in found
    # One partition has all of them, and no file gets more than its bound.
    monkeypatch.setattr(micro_batches, "EVENTS_PER_FILE", 3)
    bronze.session.sql(f"create table {bronze.name} (_batch_id bigint) using delta")
    place = Checkpoint(str(bronze.checkpoint), "m", 0, "t")
    checkpoints.save(Files(bronze.session), place)
    target = stream.Target(bronze.name, str(bronze.checkpoint))
    run = MicroBatches(bronze.feed, bronze.sql, VIEW, target, place)
    run.write(bronze.session, source.trigger(batch.coalesce(1), None, {}, 4), 0)
    files = pa.table(bronze.table.get_add_actions()).to_pydict()
    assert sorted(files["num_records"]) == [1, 3]
    # Without a checkpoint a place that is not held is read, whatever lies above it is.
    known = bronze.session.createDataFrame(
        [("a-b-0", 4), ("a-b-0", 6)], "_source_partition string, _source_offset bigint"
    )

    def lacking() -> set[tuple[str, int]]:
        source = open_source(stream.parse_spec("k.t", block).resolve(bronze.root, None))
        events = source.trigger(batch, known, {}, 4).events.collect()
        return {(row["_source_partition"], row["_source_offset"]) for row in events}

    assert lacking() == {("a-b-0", 3), ("a-b-0", 5), ("a-b-1", 0)}
    # Where the first run began at the end, what lies below all that is held was left out.
    block["options"]["startingOffsets"] = "latest"
    assert lacking() == {("a-b-0", 5), ("a-b-1", 0)}
    # A table that holds places of other topics: how many, and what removes them, is told once.
    bronze.session.sql(
        f"create or replace table {bronze.name} using delta as select * from values ('a-b-0', 1),"
        " ('a-b-dlq-0', 1), ('a-b-dlq-12', 2), ('a-c#2-1', 5), ('a-0', 3), (null, 4)"
        " t (_source_partition, _source_offset)"
    )
    spec = stream.parse_spec("k.t", block)

    def told() -> list[str]:
        place = Checkpoint(str(bronze.checkpoint), "c", 0, "t")
        return Topics(Files(bronze.session), place, spec).told(bronze.session, bronze.name)

    [warning] = told()
    assert "holds 4 events of topics that `topic` does not name: a, a-b-dlq, a-c." in warning
    assert told() == []
    bronze.session.sql(warning.split("--full-refresh: ")[1])
    assert {row["_source_offset"] for row in bronze.rows()} == {1, 4}
    noted = json.loads((bronze.checkpoint / "c/topics.json").read_text())
    assert noted["left"] == {"a": {"0": 4}, "a-b-dlq": {"0": 2, "12": 3}, "a-c": {"1": 6}}


@pytest.mark.slow
def test_other_content_under_a_name_is_told_once(make_bronze: Make) -> None:
    bronze = make_bronze()
    bronze.land("1.txt", b"a\n")
    assert bronze.run().warnings == ()
    bronze.land("1.txt", b"other\n")
    figures = bronze.run()
    assert (figures.rows, len(figures.warnings)) == (0, 1)
    assert "1.txt: written again since it was read" in figures.warnings[0]
    assert bronze.run().warnings == ()


@pytest.mark.slow
def test_a_full_refresh_that_stopped_half_way(make_bronze: Make) -> None:
    bronze = make_bronze(block={"max_files_per_trigger": 1})
    for number in (1, 2):
        bronze.land(f"{number}.gz", gzip.compress(b"a\nb\n"))
    bronze.run()
    before = bronze.versions() - 1
    whole = (bronze.landing / "2.gz").read_bytes()
    bronze.land("2.gz", whole[:-4])
    with pytest.raises(stream.StreamError, match=r"2\.gz"):
        bronze.run(full_refresh=True)
    assert len(bronze.rows()) == 2
    # The table of before has what the refresh was going to read.
    bronze.session.sql(f"restore table {bronze.name} to version as of {before}")
    bronze.land("2.gz", whole)
    assert bronze.run().batch_id is None
    bronze.check()


@pytest.mark.slow
def test_another_process_fills_the_table_meanwhile(
    make_bronze: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    bronze = make_bronze(block={"max_files_per_trigger": 1})
    bronze.land("1.txt", b"a\n")
    bronze.run()
    own = MicroBatches.write
    for meanwhile in ({}, {"full_refresh": True}):
        bronze.land(f"{len(meanwhile)}2.txt", b"b\n")

        def write(*args: Any, others: dict[str, Any] = meanwhile) -> Any:
            monkeypatch.setattr(MicroBatches, "write", own)
            bronze.land(f"{len(others)}3.txt", b"c\n")
            bronze.run(**others)
            return own(*args)

        monkeypatch.setattr(MicroBatches, "write", write)
        with pytest.raises(stream.StreamError, match="another process"):
            bronze.run()
        bronze.run()
        bronze.check()


@pytest.mark.slow
@pytest.mark.parametrize("wanted", ["delete", "archive"])
def test_files_that_were_read_are_cleaned_up(
    make_bronze: Make, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"cleanSource": wanted}
    if wanted == "archive":
        options["sourceArchiveDir"] = "/".join((".", "archive"))
    bronze = make_bronze(block={"options": options})
    archive = bronze.root / "archive"
    if wanted == "archive":
        (bronze.root / "aside").symlink_to("landing")
        (bronze.root / "disk/away").mkdir(parents=True)
        (bronze.landing / "a").mkdir(parents=True)
        (bronze.landing / "a/on").symlink_to(bronze.root / "disk")
        below = ("landing/archive", "aside/archive", "landing/x", "disk/archive")
        for inside in (bronze.root / name for name in below):
            bronze.block["options"]["sourceArchiveDir"] = str(inside)
            with pytest.raises(stream.SpecError, match="lies where the source's files are"):
                bronze.run()
        bronze.block["options"]["sourceArchiveDir"] = str(archive)
    bronze.land("a/1.txt", b"a\n")
    bronze.land("a/more", b"b\nc\n")
    assert bronze.run().rows == 3
    assert not (bronze.landing / "a/1.txt").exists()

    def kept() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in archive.rglob("*.txt")}

    assert kept() == ({"1.txt": b"a\n"} if wanted == "archive" else {})
    bronze.land("a/1.txt", b"b\n")
    assert bronze.run().batch_id is None
    # It is read after all, and neither takes the other's place.
    version = bronze.table.version()
    figures = bronze.run(full_refresh=True)
    assert figures.rows == 1
    [warning] = figures.warnings
    assert "left it with 2 events fewer" in warning
    # What it says brings back what is gone, and keeps what has come.
    statement = warning.partition("`")[2].partition("`")[0]
    assert f"from {bronze.name} version as of {version} " in statement
    bronze.session.sql(statement)
    assert sorted(row["_value"] for row in bronze.rows()) == ["a", "b", "b", "c"]
    assert bronze.run().batch_id is None
    assert kept() == ({"1.txt": b"a\n", "1.2.txt": b"b\n"} if wanted == "archive" else {})
    # Another folder with a file of a name that was read and cleaned up.
    elsewhere = bronze.root / "next/a"
    elsewhere.mkdir(parents=True)
    (elsewhere / ("1:2.txt" if wanted == "archive" else "2.txt")).write_bytes(b"x\n")
    (elsewhere / "1.txt").write_bytes(b"of another folder\n")
    (bronze.landing / "a/more").unlink(missing_ok=True)
    bronze.block["path"] = "next"
    figures = bronze.run()
    assert (figures.rows, figures.warnings) == (2, ())
    # What a link leads to may be another's.
    (bronze.root / "theirs").mkdir()
    (bronze.root / "theirs/3.txt").write_bytes(b"y\n")
    (bronze.root / "next/link").symlink_to(bronze.root / "theirs")
    assert "link/3.txt (a link leads to it" in " ".join(bronze.run().warnings)
    assert (bronze.root / "theirs/3.txt").exists()
    bronze.block["path"] = "landing"
    # What is written again while the run reads is not what was read.
    own = MicroBatches.write

    def write(*args: Any) -> Any:
        bronze.land("2.txt", b"later\n")
        return own(*args)

    monkeypatch.setattr(MicroBatches, "write", write)
    bronze.land("2.txt", b"c\n")
    figures = bronze.run()
    assert (bronze.landing / "2.txt").read_bytes() == b"later\n"
    assert any("cleanSource: 2.txt (written again" in said for said in figures.warnings)


@pytest.mark.parametrize(
    ("most", "tasks"), [(0, 1), (250_000, 1), (250_001, 2), (1_000_000, 4), (10**9, 4)]
)
def test_events_of_kafka_are_written_by_as_many_tasks_as_they_ask_for(
    spark: SparkSession, most: int, tasks: int
) -> None:
    """No more than the topic has partitions."""
    rows = spark.range(0, 8, 1, 4)
    run = object.__new__(MicroBatches)
    run.target = stream.Target("t", "c")
    found = run._few_files(rows, Trigger(rows, 0, 0, 0, most))
    assert found.rdd.getNumPartitions() == tasks
