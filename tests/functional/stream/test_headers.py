"""CSV files with headers, and files of every name, beside what Python's csv reads."""

from __future__ import annotations

import csv
import gzip
import os
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from functional import delta_rs
from functional.stream.bronze import VIEW, Bronze

from alluvium import ingest as stream
from alluvium.ingest.file_source import FileSource
from alluvium.ingest.landing import Landed
from alluvium.ingest.options import unfit
from alluvium.ingest.sources import open_source

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Make = Callable[..., Bronze]

SCHEMA = "sku string, price decimal(10,2), _corrupt_record string"


def expected(folder: Path, sep: str) -> set[tuple[Any, ...]]:
    """(file, line from 0, sku, price as text) of every line behind a header."""
    found = set()
    for path in (p for p in folder.rglob("*.csv*") if p.is_file()):
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        rows = list(csv.reader(content.decode("utf-8-sig").splitlines(), delimiter=sep))
        header = [name.strip(' "').lower() for name in rows[0]] if rows else []
        for line, row in enumerate(rows[1:], start=1):
            given = dict(zip(header, row, strict=False))
            place = path.relative_to(folder).as_posix(), line
            found.add((*place, given["sku"], given.get("price")))
    return found


def stored(bronze: Bronze) -> set[tuple[Any, ...]]:
    return {
        (
            r["_source_partition"],
            r["_source_offset"],
            r["sku"],
            None if r["price"] is None else str(r["price"]),
        )
        for r in bronze.rows()
    }


def test_a_header_names_the_columns_of_its_file(make_bronze: Make) -> None:
    block = {"format": "csv", "schema": SCHEMA, "options": {"header": True, "sep": ";"}}
    block["options"] |= {"comment": "#"}
    bronze = make_bronze(block=block)
    bronze.land("a.csv", b"sku;price\nA1;9.50\nA2;1.00\n")
    bronze.land("empty.csv", b"")
    bronze.land("only_header.csv", b"sku;price")
    bronze.land("a:b/2024-01-01T00:00:00.csv", b"price;sku\r\n1.50;B1\r\n")
    bronze.land("c.csv.gz", gzip.compress(b'\xef\xbb\xbf"Price" ; "SKU";more\n"3.00";"C;1";x\n'))
    bronze.land("older.csv", b"sku\nD1\n")
    assert bronze.run().rows == 5
    assert stored(bronze) == expected(bronze.landing, ";")
    assert {r["_corrupt_record"] for r in bronze.rows()} == {None}
    lines = {r["_source_partition"]: r["_headers"] for r in bronze.rows()}
    assert [(h["key"], bytes(h["value"])) for h in lines["a.csv"]] == [("_header", b"sku;price")]
    # A rebuilt checkpoint finds every place again; the batch view has the same events.
    bronze.lose_checkpoint()
    assert bronze.run().rows == 0
    stream.register_batch_view(bronze.session, bronze.feed, VIEW)
    assert bronze.session.table(f"`{VIEW}`").count() == 5
    # A line that does not fit is a row that says so; a header that may have renamed is refused.
    bronze.land("d.csv", b"price;sku\nnine;E1\n2\n")
    bronze.run()
    bad = {r["_source_offset"]: r for r in bronze.rows() if r["_source_partition"] == "d.csv"}
    assert (bad[1]["sku"], bad[1]["price"], bad[1]["_corrupt_record"]) == ("E1", None, "nine;E1")
    assert bad[2]["_value"] == bad[2]["_corrupt_record"] == "2"
    bronze.land("e.csv", b"sku;prise\nF1;1\n")
    before = bronze.versions()
    with pytest.raises(stream.SpecError, match=r"header of e\.csv.*not have price and has prise"):
        bronze.run()
    assert bronze.versions() == before
    bronze.land("e.csv", b"sku;price\nF1;1.00\n")
    assert bronze.run().rows == 1
    # Like Spark's own reader: neither blank lines nor comments before the header are one.
    bronze.land("f.csv", b"# of May\n \nsku;price\nG1;2.00\n")
    bronze.land("none.csv", b"# of June\n")
    figures = bronze.run()
    assert (figures.rows, figures.warnings) == (1, ())
    # A new column is told once; `more` was there from the start.
    for name in ("g.csv", "h.csv"):
        bronze.land(name, b"sku;price;more;Rate\nH1;2.00;x;0.1\n")
        figures = bronze.run()
        told = [] if name == "h.csv" else ["the header of g.csv has a new column Rate."]
        assert [line.partition(": ")[2].partition(" The ")[0] for line in figures.warnings] == told
    assert ("f.csv", 3, "G1", "2.00") in stored(bronze)
    # A run without events leaves no file behind.
    bronze.land("only.csv", b"sku;price\n")
    assert bronze.run().rows == 0
    assert delta_rs.unused_files(Path(bronze.table.table_uri.removeprefix("file://"))) == set()


def test_headers_without_a_schema_and_files_of_any_name(make_bronze: Make) -> None:
    bronze = make_bronze(block={"format": "csv", "options": {"header": True}})
    # A folder above the source has a wildcard's characters.
    bronze.root /= "p[1] {x} %20"
    names = ["2024-01-01T00:00:00", ":a", "b:", "s3a:/x", "a%20b%2F", "a+b", " c ", "[1]", "{x,y}"]
    names += ["a?b*", "#", "a\\b", "a\nb", "'\"`", "ü", unicodedata.normalize("NFD", "ö"), "😀"]
    names += ["k=v/l=w", "x" * 250, "a\x01b", "-", "~", "file:x", "_hidden=seen"]
    for number, name in enumerate(names):
        bronze.land(name, f"id\n{number}\n".encode())
    (bronze.landing / "empty").mkdir()
    (bronze.landing / "broken").symlink_to("nowhere")
    os.mkfifo(bronze.landing / "pipe")
    bronze.land("_hidden", b"x\n")
    bronze.land(".hidden", b"x\n")
    assert bronze.run().rows == len(names)
    found = {(r["_source_partition"], r["_source_offset"], r["_value"]) for r in bronze.rows()}
    assert found == {(name, 1, str(number)) for number, name in enumerate(names)}
    assert {bytes(r["_headers"][0]["value"]) for r in bronze.rows()} == {b"id"}
    # A column that comes or goes is told once.
    for header, told in {
        "id,at": ["has a new column at. "],
        "id,AT": [],
        "at": ["misses the column id. "],
        "id": ["misses the column at. "],
        "ID": [],
    }.items():
        bronze.land(f"of {header}", f"{header}\n1\n".encode())
        names.append(f"of {header}")
        expected = [f"the header of of {header} {what}" for what in told]
        found = [line.partition(": ")[2].partition("Fields")[0] for line in bronze.run().warnings]
        assert found == expected
    # Its other half is not an event.
    bronze.land("quoted", b'id,"a\nb"\n1,2\n')
    with pytest.raises(stream.SpecError, match=r"header of quoted is .*a quote opens in its line"):
        bronze.run()
    (bronze.landing / "quoted").unlink()
    # Java's listings leave out a name that is no text: it is told.
    bad = Path(os.fsdecode(os.fsencode(bronze.landing) + b"/\xff.csv"))
    bad.write_text("id\n7\n")
    with pytest.raises(stream.SpecError, match=r"\\xff\.csv.*rename it"):
        bronze.run()

    def landed(path: str) -> list[Landed]:
        spec = stream.parse_spec("files.t", {"format": "text", "path": path})
        source = open_source(spec.resolve(bronze.root, None))
        assert isinstance(source, FileSource)
        return source.landed(bronze.session)

    for path in (f"file://{bronze.landing}", f"{bronze.landing}/*", f"{bronze.root}/*/*.csv"):
        with pytest.raises(stream.SpecError, match=r"\\xff\.csv.*rename it"):
            landed(path)
    bad.unlink()
    # So it does with all that lies in such a folder. A link to a folder above never ends.
    folder = bad.with_suffix("")
    folder.mkdir()
    bronze.land("_passed_over/x", b"id\n8\n")
    (bronze.landing / "_passed_over" / "up").symlink_to("..")
    with pytest.raises(stream.SpecError, match=r"named b'\\xff'.*rename it"):
        bronze.run()
    folder.rmdir()
    link = bronze.landing / "k=v" / "up"
    link.symlink_to(bronze.landing)
    with pytest.raises(stream.SpecError, match=r"link named 'up'.*remove the link"):
        bronze.run()
    link.unlink()
    # Neither folder lies in the other.
    (bronze.landing / "m").mkdir()
    link.symlink_to("../m")
    back = bronze.landing / "m" / "back"
    back.symlink_to("../k=v")
    with pytest.raises(stream.SpecError, match=r"a link named '(up|back)'.*remove the link"):
        bronze.run()
    back.unlink()
    link.unlink()
    # What two ways lead to comes in once.
    (bronze.landing / "linked").symlink_to(bronze.landing / "k=v")
    bronze.land("k=v/new", b"id\n9\n")
    assert bronze.run().rows == 1
    assert {row["_source_partition"] for row in bronze.rows()} == {*names, "k=v/new"}


def test_every_option_of_spark_has_its_answer(make_bronze: Make) -> None:
    session = make_bronze().session
    jvm: Any = session._jvm
    sql = jvm.org.apache.spark.sql
    files = sql.execution.datasources
    for fmt, options in {
        "json": sql.catalyst.json.JSONOptions,
        "csv": sql.catalyst.csv.CSVOptions,
        "parquet": files.parquet.ParquetOptions,
        "orc": files.orc.OrcOptions,
        "text": files.text.TextOptions,
    }.items():
        for name in jvm.scala.jdk.javaapi.CollectionConverters.asJava(options.getAllOptions()):
            assert "unknown" not in (unfit(fmt, name, True) or ""), (fmt, name)
