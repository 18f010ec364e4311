"""Records of CSV that span lines, beside what Python's csv reads."""

from __future__ import annotations

import csv
import gzip
import json
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


def expected(folder: Path, **dialect: Any) -> Rows:
    """The same of files whose quotes all close, by Python's own reader."""
    found: Rows = {}
    for path in folder.iterdir():
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        lines = content.decode().split("\n")
        whole = lines[: len(lines) - (lines[-1] == "")]
        reader = csv.reader((f"{line}\n" for line in whole), **dialect)
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


# Options, what they are to Python's reader, and a file.
DIALECTS: dict[str, tuple[dict[str, str], dict[str, Any], bytes]] = {
    "another quote": (
        {"quote": "'", "escape": "'"},
        {"quotechar": "'"},
        b"id,note,qty\n1,'call \"back\n\nafter ''noon''\n',5\n2,\"fine,7\n'3','x\"',9\n",
    ),
    "no quote": (
        {"quote": ""},
        {"quoting": csv.QUOTE_NONE},
        b'id,note,qty\n1,"call,5\n2,5\' pipe,7\n"3",\'x",9\n4,",1\n',
    ),
    "another escape": (
        {"escape": "\\"},
        {"escapechar": "\\", "doublequote": False},
        b'id,note,qty\n1,"call \\"back\\"\n\\"after",5\n2,"x\n\\\\",7\n3,"\\"\n",9\n',
    ),
}


def test_quotes_and_escapes_of_other_programs(make_bronze: Make) -> None:
    bronze = make_bronze(block={"format": "csv", "schema": SCHEMA})
    for options, dialect, content in DIALECTS.values():
        bronze.land("1.csv", content)
        bronze.block["options"] = {**OPTIONS, **options, "multiLine": True}
        assert read(bronze) == expected(bronze.landing, **dialect), options


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


NUMBERS = "id string, n decimal(10,2), x double, _corrupt string"
# What a cell is as decimal(10,2), or None where it is none.
CELLS = {
    "1.5": "1.50", "-7": "-7.00", "+1.500": "1.50", "1e3": "1000.00", "12345678.99": "12345678.99",
    ".5": "0.50", "0": "0.00", "0E-10": "0.00", "1,50": None, "12,345": None, "1.234,50": None,
    "1.005": None, "1.999": None, "123456789": None, "1e400": None, "1e-999999999": None,
    " 1": None, "one": None, "NaN": None,
}  # fmt: skip
FRACTIONS = {"1.5": 1.5, "1e400": None, "-1e400": None, "Infinity": float("inf"), "1,5": None}


def numbers(bronze: Bronze) -> dict[str, tuple[Any, ...]]:
    """The number, the fraction and the corrupt text of each event, by its id."""
    stream.register_batch_view(bronze.session, bronze.feed, VIEW)
    rows = [row.asDict() for row in bronze.session.table(f"`{VIEW}`").collect()]
    return {
        row["id"]: (
            None if row["n"] is None else str(row["n"]),
            row["x"],
            row.get("_corrupt", "no column"),
        )
        for row in rows
    }


def test_numbers_are_as_they_are_written_or_corrupt(make_bronze: Make) -> None:
    options = {"columnNameOfCorruptRecord": "_corrupt", "sep": ";"}
    block = {"format": "csv", "schema": NUMBERS, "options": options}
    bronze = make_bronze(block=block)
    lines = [f"{cell};{cell};2.5" for cell in CELLS] + [f"x{cell};7;{cell}" for cell in FRACTIONS]
    lines += ["a;;", 'b;"";""']
    bronze.land("1.csv", "\n".join(lines).encode())
    expected = {cell: (n, 2.5, None if n else f"{cell};{cell};2.5") for cell, n in CELLS.items()}
    expected |= {
        f"x{cell}": ("7.00", x, None if x else f"x{cell};7;{cell}") for cell, x in FRACTIONS.items()
    }
    expected |= {"a": (None, None, None), "b": (None, None, None)}
    assert numbers(bronze) == expected
    # By a header, over lines, and without a column of corrupt records.
    block["schema"] = "x double, n decimal(10,2), id string"
    block["options"] = {"header": True, "sep": ";", "multiLine": True}
    bronze.land("1.csv", b'id;more;n;x\na;"y\nz";1,50;1e400\nb;y;1.50;1.5\n')
    assert numbers(bronze) == {
        "a": (None, None, "no column"),
        "b": ("1.50", 1.5, "no column"),
    }
    block["options"]["mode"] = "FAILFAST"
    with pytest.raises(PySparkException, match=r'1\.csv, line 2: a;"y\nz";1,50;1e400 does not fit'):
        numbers(bronze)
    block["options"] = {"sep": ";", "locale": "de-DE"}
    block["schema"] = NUMBERS
    bronze.land("1.csv", b"a;1.234,50;1.5;\nb;1,505;1.5;\n")
    assert numbers(bronze) == {"a": ("1234.50", 1.5, None), "b": (None, 1.5, None)}


# Columns of a record, and which of them Spark would read as something else.
DAYS = {
    '{"id":"day","d":"2024-01-05","at":"2024-01-05T10:30:00Z","n":-128}': None,
    '{"id":"seconds","at":1700000000}': None,
    '{"id":"milliseconds","at":1700000000000}': "at",
    '{"id":"clock","at":"10:30:00"}': "at",
    '{"id":"serial","d":"45297"}': "d",
    '{"id":"month","d":"202401"}': "d",
    '{"id":"byte","n":200}': "n",
    '{"id":"zoneless","z":"+12024-01-05T10:30:00"}': "z",
}


def test_days_and_times_are_as_they_are_written_or_corrupt(make_bronze: Make) -> None:
    block: dict[str, Any] = {"format": "json"}
    block["schema"] = "id string, d date, at timestamp, n tinyint, z timestamp_ntz, _corrupt string"
    block["options"] = {"columnNameOfCorruptRecord": "_corrupt"}
    bronze = make_bronze(block=block)
    bronze.land("1.json", "\n".join(DAYS).encode())

    def read() -> dict[str, dict[str, Any]]:
        stream.register_batch_view(bronze.session, bronze.feed, VIEW)
        texts = "id, string(d) d, string(at) at, n, string(z) z, _corrupt"
        rows = bronze.session.sql(f"select {texts} from `{VIEW}`").collect()
        return {row["id"]: row.asDict() for row in rows}

    found = read()
    for line, wrong in DAYS.items():
        row = found[json.loads(line)["id"]]
        assert row["_corrupt"] == (line if wrong else None), line
        given = {one for one in ("d", "at", "n", "z") if f'"{one}":' in line}
        assert {one for one in ("d", "at", "n", "z") if row[one] is not None} == given - {wrong}, (
            line
        )
    # Of csv too; a format says what a text means.
    block |= {"format": "csv", "schema": "id string, d date, at timestamp, _corrupt string"}
    bronze.landing.joinpath("1.json").unlink()
    bronze.land("1.csv", b"a,45297,\nb,2024-01-05,+12024-01-05 10:00:00\nc,2024-01-05,\n")
    stream.register_batch_view(bronze.session, bronze.feed, VIEW)
    rows = bronze.session.sql(f"select id, d is null, at is null, _corrupt from `{VIEW}`").collect()
    assert sorted(map(tuple, rows)) == [
        ("a", True, True, "a,45297,"),
        ("b", False, True, "b,2024-01-05,+12024-01-05 10:00:00"),
        ("c", False, True, None),
    ]


def test_numbers_of_json(make_bronze: Make) -> None:
    block: dict[str, Any] = {"format": "json", "schema": NUMBERS}
    block["options"] = {"columnNameOfCorruptRecord": "_corrupt"}
    bronze = make_bronze(block=block)
    texts = {cell: f'{{"id":"{cell}","n":"{cell}","x":2.5}}' for cell in CELLS}
    tokens = {
        "1.005": None, "1.5": "1.50", "1e3": "1000.00", "1e400": None, "true": None, "[1]": None,
        "null": None,
    }  # fmt: skip
    plain = {f"t{token}": f'{{"id":"t{token}","n":{token},"x":2.5}}' for token in tokens}
    large = '{"id":"large","x":1e400}'
    infinite = '{"id":"inf","x":"Infinity"}'
    more = '{"id":"more"} {"id":"less"}'
    bronze.land("1.json", "\n".join([*texts.values(), *plain.values(), large, infinite]).encode())
    expected: dict[str, tuple[Any, ...]] = {
        cell: (n, 2.5, None if n else texts[cell]) for cell, n in CELLS.items()
    }
    expected |= {
        f"t{token}": (n, 2.5, None if n or token == "null" else plain[f"t{token}"])
        for token, n in tokens.items()
    }
    expected |= {"large": (None, None, large), "inf": (None, float("inf"), None)}
    assert numbers(bronze) == expected
    # Inside of other values too; two objects in a line are no record, as ever.
    block["schema"] = "id string, n decimal(38,4), x double"
    long = '{"n": 1234567890123456.7891, "id": "é\\"", "x": 1.5, "more": {"n": 1.23456}}'
    bronze.land("1.json", long.encode())
    assert numbers(bronze) == {'é"': ("1234567890123456.7891", 1.5, "no column")}
    block["schema"] = "o struct<n:decimal(4,2),s:string>, a array<decimal(4,2)>, "
    block["schema"] += "m map<string,struct<x:float>>, _corrupt string"
    good = '{"o":{"n":1.5,"s":"x"},"a":["1.5",null],"m":{"k":{"x":1.5},"l":null}}'
    bad = '{"o":{"n": "1,5" ,"s":"x"},"a":["1.5","1,5"],"m":{"k":{"x":1e39}}}'
    bronze.land("1.json", "\n".join([good, bad, more, "{}"]).encode())
    stream.register_batch_view(bronze.session, bronze.feed, VIEW)
    found = bronze.session.sql(f"select to_json(struct(o, a, m)), _corrupt from `{VIEW}`").collect()
    assert [tuple(row) for row in found] == [
        ('{"o":{"n":1.50,"s":"x"},"a":[1.50,null],"m":{"k":{"x":1.5},"l":null}}', None),
        ('{"o":{"s":"x"},"a":[1.50,null],"m":{"k":{}}}', bad),
        ("{}", more),
        ("{}", None),
    ]
    block["options"]["mode"] = "FAILFAST"
    stream.register_batch_view(bronze.session, bronze.feed, VIEW)
    some = bronze.session.table(f"`{VIEW}`").select("o")
    with pytest.raises(PySparkException, match=r"1\.json, line 2: .* does not fit the schema"):
        some.collect()


def test_a_record_beyond_the_limits_of_the_parser(make_bronze: Make) -> None:
    block: dict[str, Any] = {"format": "csv", "schema": "id string, n int, _corrupt string"}
    block["options"] = {"columnNameOfCorruptRecord": "_corrupt"}
    bronze = make_bronze(block=block)

    def read() -> list[tuple[Any, ...]]:
        stream.register_batch_view(bronze.session, bronze.feed, VIEW)
        rows = bronze.session.table(f"`{VIEW}`").select("id", "n", "_corrupt").collect()
        return [tuple(row) for row in rows]

    many = "a,2" + "," * 20_500
    quoted = f'"a,{"," * 30_000}",2'
    bronze.land("1.csv", f"a,1\n{many}\n{quoted}\nb,3\n".encode())
    assert read() == [("a", 1, None), (None, None, many), (quoted[1:-3], 2, None), ("b", 3, None)]
    # At a limit of one's own a record is one, over lines too.
    block["options"] |= {"maxColumns": 2, "maxCharsPerColumn": 3, "multiLine": True}
    bronze.land("1.csv", b'a,1\n"a\nb",2\na,1,2\nlong,3\n"lo\nng",4\nc,5\n')
    assert read() == [
        *(("a", 1, None), ("a\nb", 2, None), (None, None, "a,1,2"), (None, None, "long,3")),
        *((None, None, '"lo\nng",4'), ("c", 5, None)),
    ]
    block["options"]["mode"] = "FAILFAST"
    with pytest.raises(PySparkException, match=r"1\.csv, line 4: .*beyond .*maxColumns") as caught:
        read()
    assert "univocity" not in str(caught.value)
    bronze.land("1.csv", b"a,1\nb,x\n")
    with pytest.raises(PySparkException, match=r"1\.csv, line 2: b,x does not fit the schema"):
        read()
    block["options"]["header"] = True
    bronze.land("1.csv", b"id,n,m\na,1,2\n")
    with pytest.raises(stream.SpecError, match=r"header of 1\.csv .*`maxColumns`"):
        read()
