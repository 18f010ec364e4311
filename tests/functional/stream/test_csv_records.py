"""Records of CSV that span lines, beside what Python's csv reads."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from functional.stream.bronze import VIEW, Bronze
from pyspark.errors import PySparkException

from alluvium import ingest as stream

pytestmark = pytest.mark.spark
Make = Callable[..., Bronze]
Rows = dict[tuple[str, int], tuple[Any, ...]]

SCHEMA = "id string, note string, qty int, _corrupt string"
OPTIONS = {"header": True, "escape": '"', "columnNameOfCorruptRecord": "_corrupt"}
# A quote in the middle of a value is a plain one; an empty line is an event.
FILES = {
    "1.csv": b'id,note,qty\n1,"call back\nafter noon",5\n2,fine,7\n',
    "crlf.csv": b'id,note,qty\r\n1,"a\r\n\r\nb ""c"" d",5\r\n2,5" pipe,7\r\n\r\n3,"x",\r\n',
    "twin.csv.gz": gzip.compress(b'id,note,qty\n1,"seems\n9,whole,9\nand is not",5\n2,"y\n""",7'),
    "header.csv": b'qty,"the\nword","note",id\n5,"w","a\nb",1\n',
}


def read(bronze: Bronze) -> Rows:
    """(file, line from 0) of each event, and its columns."""
    stream.register_batch_view(bronze.session, bronze.feed, VIEW)
    found = bronze.session.table(f"`{VIEW}`")
    columns = ("id", "note", "qty", "_corrupt", "_value")
    return {
        (row["_source_partition"], row["_source_offset"]): tuple(row[name] for name in columns)
        for row in found.collect()
    }


def expected(folder: Path) -> Rows:
    """The same of files whose quotes all close, by Python's own reader."""
    found: Rows = {}
    for path in folder.iterdir():
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        lines = content.decode().split("\n")
        reader = csv.reader(f"{line}\n" for line in lines[: len(lines) - (lines[-1] == "")])
        header = next(reader)
        begin = reader.line_num
        for row in reader:
            given = dict(zip(header, row, strict=False))
            number = int(given["qty"]) if given.get("qty") else None
            raw = "\n".join(lines[begin : reader.line_num]).removesuffix("\r")
            found[path.name, begin] = (given.get("id"), given.get("note"), number, None, raw)
            begin = reader.line_num
    return found


@pytest.fixture
def notes(make_bronze: Make) -> Bronze:
    bronze = make_bronze(block={"format": "csv", "schema": SCHEMA, "options": OPTIONS})
    for name, content in FILES.items():
        bronze.land(name, content)
    return bronze


def test_a_line_break_inside_quotes(notes: Bronze) -> None:
    notes.block = notes.block | {"options": {**OPTIONS, "multiLine": True}}
    whole = expected(notes.landing)
    assert read(notes) == whole
    # Line by line each part of such a record says so, what looks like a record in it too.
    del notes.block["options"]["multiLine"]
    (notes.landing / "header.csv").unlink()
    apart = read(notes)
    spans = {place: row for place, row in whole.items() if "\n" in row[-1]}
    parts = {
        (name, first + n): text.removesuffix("\r")
        for (name, first), row in spans.items()
        if name != "header.csv"
        for n, text in enumerate(row[-1].split("\n"))
    }
    assert {place: row for place, row in apart.items() if row[3] is not None} == {
        place: (None, None, None, text, text) for place, text in parts.items()
    }
    others = {
        place: row
        for place, row in whole.items()
        if place[0] != "header.csv" and place not in spans
    }
    assert {place: row for place, row in apart.items() if place not in parts} == others


@pytest.mark.slow
def test_quotes_that_do_not_close(notes: Bronze) -> None:
    for name in FILES:
        (notes.landing / name).unlink()
    notes.land("open.csv", b'id,note,qty\n1,"no end,5\n2,fine,7\n3,"",9\n')
    notes.land("text.csv", b'id,note,qty\n1,"a\nb"c,5\n2,fine,7\n')
    stray = [b'1,"5 inch,5', b"2,fine,7", b'3,"ok",7', b'4,"ok",8', b"5,fine,9"]
    notes.land("stray.csv", b"\n".join([b"id,note,qty", *stray]))
    many = {**OPTIONS, "multiLine": True}
    apart = read(notes)
    assert [apart.pop(("stray.csv", line))[0] for line in range(1, 6)] == [
        None,
        "2",
        None,
        "4",
        "5",
    ]
    (notes.landing / "stray.csv").unlink()
    assert {place: row[3] for place, row in apart.items()} == {
        ("open.csv", 1): '1,"no end,5',
        ("open.csv", 2): None,
        ("open.csv", 3): None,
        ("text.csv", 1): '1,"a',
        ("text.csv", 2): 'b"c,5',
        ("text.csv", 3): None,
    }
    assert apart["open.csv", 2] == ("2", "fine", 7, None, "2,fine,7")
    notes.block["options"] = many
    text = '1,"no end,5\n2,fine,7\n3,"",9'
    assert read(notes)["open.csv", 1] == (None, None, None, text, text)
    assert read(notes)["text.csv", 1][:4] == (None, None, None, '1,"a\nb"c,5')
    assert read(notes)["text.csv", 3][:3] == ("2", "fine", 7)
    for multi in (True, False):
        notes.block["options"] = {**OPTIONS, "multiLine": multi, "mode": "FAILFAST"}
        with pytest.raises(PySparkException, match=r"(open|text)\.csv, line 2: .*does not close"):
            read(notes)
    # Of a large file little is kept in memory; the run stops and tells where the quote is.
    notes.block["options"] = OPTIONS
    line = b"2,well,7\n"
    notes.land("open.csv", b'id,note,qty\n1,"no end,5\n' + line * (2 * 2**20))
    (notes.landing / "text.csv").unlink()
    stream.register_batch_view(notes.session, notes.feed, VIEW)
    rows = notes.session.table(f"`{VIEW}`").groupBy("id", "note", "qty", "_corrupt").count()
    assert {tuple(row) for row in rows.collect()} == {
        (None, None, None, '1,"no end,5', 1),
        ("2", "well", 7, None, 2 * 2**20),
    }
    notes.block["options"] = many
    with pytest.raises(stream.StreamError, match=r"line 2 of .*open\.csv opens is not closed"):
        notes.run()
    assert notes.rows() == []
    # The header is a record too.
    for multi in (True, False):
        notes.land("open.csv", b'id,note,qty,"no end\n1,a,2\n')
        notes.block["options"] = {**OPTIONS, "multiLine": multi}
        with pytest.raises(stream.SpecError, match=r"header of open\.csv.*a quote opens"):
            read(notes)
