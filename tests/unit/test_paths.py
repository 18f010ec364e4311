"""Where files lie, against the rules of URIs as urllib and pathlib have them."""

from __future__ import annotations

import ast
from pathlib import Path, PurePosixPath
from string import ascii_lowercase, ascii_uppercase
from string import digits as ascii_digits
from urllib.parse import quote, unquote, urljoin, urlsplit
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alluvium.delta.files.paths import vector_file
from alluvium.paths import Place, folder_of, is_absolute, name_of

SRC = Path(__file__).parents[2] / "src"
# Who else takes apart what has slashes, and why.
APART = {
    "alluvium/delta/files/paths.py": "the same for columns of Spark",
    "alluvium/delta/rewrite/layout_commits.py": "Delta says where an action's file is",
    "alluvium/engine/files.py": "Hadoop opens a file system by its URI",
    "alluvium/engine/ivy.py": "coordinates of jars",
    "alluvium/engine/s3.py": "the address of an endpoint",
    "alluvium/ingest/intake.py": "a number before a name's suffix",
    "alluvium/ingest/landing.py": "globs",
    "alluvium/ingest/local_folder.py": "links of this machine",
    "alluvium/ingest/spec.py": "links and the working folder of this machine",
    "alluvium/plan/versions/batches.py": "ids of transactions",
    "alluvium/plan/versions/heirs.py": "ids of transactions",
    "alluvium/plan/versions/left_out.py": "ids of transactions",
    "dbt/adapters/alluvium/places.py": "dbt's `project://path`",
    "dbt/adapters/alluvium/verbs/adopting.py": "dbt's `project://path`",
}
MODULES = {"ntpath", "os.path", "posixpath", "urllib.parse"}
JAVA = {"getRawPath", "toUri", "url_decode", "url_encode"}
CUTS = {"partition", "rpartition", "rsplit", "split"}

FEW = settings(max_examples=40)
CHARACTERS = st.one_of(
    st.sampled_from(" %+#?&=:;,@!$'()*[]{}|\\^`\"<>~._-äÖß€2F0\u00a0\u2028\U0001f300"),
    st.characters(exclude_categories=["Cs"], exclude_characters="/\0"),
)
NAMES = st.text(CHARACTERS, min_size=1, max_size=8).filter(lambda name: name not in (".", ".."))
STEPS = st.lists(NAMES, max_size=4)
SYSTEMS = st.sampled_from(
    ["file:", "s3a://bucket", "s3a://bucket-2", "abfss://c@a.b.net", "h://n:1"]
)
PLACES = st.builds(lambda system, steps: Place(system, f"/{'/'.join(steps)}"), SYSTEMS, STEPS)


@FEW
@given(PLACES)
def test_each_way_to_write_it_is_read_again(place: Place) -> None:
    assert Place.of(str(place)) == Place.of_uri(place.uri) == place
    assert Place.of(place.shown) == place


@FEW
@given(PLACES)
def test_its_uri_is_one(place: Place) -> None:
    found = urlsplit(place.uri)
    assert (found.query, found.fragment) == ("", "")
    assert unquote(found.path) == place.path
    # What `java.net.URI` leaves as it is: marks of RFC 2396, and what is neither ASCII nor a blank.
    safe = "_-!.~'()*:@&=+$,;/"
    for character in found.path:
        assert character in safe or character.isalnum() or character == "%" or ord(character) > 127
    ascii_only = "".join(one for one in place.path if ord(one) < 128)
    assert Place("", f"/{ascii_only}").uri == quote(f"/{ascii_only}", safe=safe)


@FEW
@given(STEPS)
def test_a_path_of_this_machine(steps: list[str]) -> None:
    path = PurePosixPath("/", *steps)
    for uri in (path.as_uri(), path.as_uri().replace("file://", "file:"), quote(str(path))):
        assert Place.of_uri(uri) == Place("file:", str(path))
    for text in (str(path), f"file:{path}", f"file://{path}", f"file://localhost{path}"):
        assert Place.of(text) == Place("file:", str(path))
    assert Place.of(str(path)).shown == str(path)


@FEW
@given(PLACES, STEPS, st.integers(0, 3))
def test_a_path_in_the_log(table: Place, steps: list[str], up: int) -> None:
    written = "/".join([".."] * up + [quote(step, safe="+=") for step in steps])
    # urllib resolves for schemes that it knows alone.
    known = f"http://host{quote(table.path.rstrip('/'))}/"
    expected = unquote(urlsplit(urljoin(known, written)).path)
    assert Place.of_uri(written, table) == Place(table.system, expected.rstrip("/") or "/")


@FEW
@given(PLACES, PLACES)
def test_one_that_is_elsewhere_says_so(table: Place, file: Place) -> None:
    assert Place.of_uri(file.uri, table) == file


@FEW
@given(PLACES, STEPS, PLACES)
def test_inside_which_folder(folder: Place, steps: list[str], other: Place) -> None:
    place = folder / "/".join(steps)
    assert place.inside(folder) == "/".join(steps)
    path, elsewhere = PurePosixPath(place.path), PurePosixPath(other.path)
    is_inside = place.system == other.system and path.is_relative_to(elsewhere)
    assert (place.inside(other) is not None) == is_inside
    if place != other:
        assert str(place).startswith(other.below) == is_inside
    if is_inside:
        assert other / (place.inside(other) or "") == place
    assert (place.name, place.parent) == (path.name, Place(place.system, str(path.parent)))


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("file:///a%20b/c%2520d", "file:/a b/c%20d"),
        ("/a+b%2Bc", "file:/a+b+c"),
        ("s3a://other/a//b/", "s3a://other/a/b"),
        ("s3a://other", "s3a://other/"),
        ("../t 2/p", "s3a://bucket/lake/t 2/p"),
        (
            "day=2026-01-01%2000%253A00/p.parquet",
            "s3a://bucket/lake/t/day=2026-01-01 00%3A00/p.parquet",
        ),
        ("_a:b/p", "s3a://bucket/lake/t/_a:b/p"),
        ("a:b/p", "s3a://bucket/lake/t/a:b/p"),
        ("%C3%BC", "s3a://bucket/lake/t/ü"),
    ],
)
def test_in_the_log_of_a_table_in_a_bucket(uri: str, place: str) -> None:
    assert str(Place.of_uri(uri, Place.of("s3a://bucket/lake/t"))) == place


def test_as_hadoop_writes_it() -> None:
    """What `new Path(text).toUri()` gives."""
    assert Place.of("/a b%20#?+ü").uri == "file:/a%20b%2520%23%3F+ü"
    assert Place.of('s3a://b/[x]{y}|^`"<>\\~').uri == "s3a://b/%5Bx%5D%7By%7D%7C%5E%60%22%3C%3E%5C~"
    assert Place.of("/\u00a0\u2028\u0085").uri == "file:/%C2%A0%E2%80%A8%C2%85"


@pytest.mark.parametrize("text", ["", "a", "a/b", "../a", "a:b", "file:", "file:a", "at=12:00/a"])
def test_what_is_relative_has_no_place(text: str) -> None:
    for read in (Place.of, Place.of_uri):
        with pytest.raises(ValueError, match=f"^'{text}' is relative; accepted: an absolute path"):
            read(text)


@FEW
@given(PLACES, NAMES)
def test_as_it_is_written(place: Place, name: str) -> None:
    for text in (f"{place.below}{name}", f"{place.uri.rstrip('/')}/{quote(name, safe='')}"):
        assert is_absolute(text)
        assert f"{folder_of(text)}/{name_of(text)}" == text
    assert name_of(f"{place.below}{name}") == (place / name).name
    assert not is_absolute(quote(name, safe=""))
    assert (place / name).steps == [*place.steps, name]


@FEW
@given(PLACES, STEPS)
def test_the_way_from_a_folder(place: Place, steps: list[str]) -> None:
    other = Place(place.system, "/") / "/".join(steps)
    assert other / place.way(other) == place


def _takes_apart(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any(one.name in MODULES for one in names)
        case ast.ImportFrom(module=module):
            return module in MODULES
        case ast.Attribute(attr=name):
            return name in JAVA or ast.unparse(node) in MODULES
        case ast.Call(func=ast.Attribute(attr=name), args=[ast.Constant(value=str(cut)), *_]):
            return name in CUTS and cut in ("/", ":/", "://")
        case ast.Constant(value=str(text)):
            return text.startswith("file:")
    return False


def test_nobody_else_takes_a_path_apart() -> None:
    found = {
        path.relative_to(SRC).as_posix()
        for path in SRC.rglob("*.py")
        if any(map(_takes_apart, ast.walk(ast.parse(path.read_text()))))
    }
    assert found == {"alluvium/paths.py", *APART}


@pytest.mark.parametrize("prefix", ["", "ab"])
def test_a_vector_whose_file_is_named_by_a_number(prefix: str) -> None:
    """By the example of Delta's protocol."""
    found = vector_file("u", f"{prefix}^-aqEH.-t@S}}K{{vb[*k^", Place.of("s3://mytable"))
    name = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert found == Place.of(f"s3://mytable/{prefix}/{name}")


def test_other_vectors() -> None:
    root = Place.of("/t")
    assert str(vector_file("p", "file:///a%20b/1.bin", root)) == "file:/a b/1.bin"
    assert vector_file("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", root) is None
    assert vector_file(None, "", root) is None


@given(st.uuids())
def test_each_name_of_a_vector_is_read(name: UUID) -> None:
    digits = ascii_digits + ascii_lowercase + ascii_uppercase + ".-:+=^!/*?&<>()[]{}@%$#"
    written = ""
    for begin in range(0, 16, 4):
        number = int.from_bytes(name.bytes[begin : begin + 4])
        written += "".join(digits[number // 85**place % 85] for place in (4, 3, 2, 1, 0))
    found = vector_file("u", f"x{written}", Place.of("/t"))
    assert found == Place.of(f"/t/x/deletion_vector_{name}.bin")
