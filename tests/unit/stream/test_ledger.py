"""The ledger of a landing folder: what it knows after each way in which a run may end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from unit.stream.local_files import LocalFiles

from alluvium.ingest import StreamError, ledger
from alluvium.ingest.landing import Landed

FILES: Any = LocalFiles()


def file(name: str, size: int = 1) -> Landed:
    return Landed(name, f"file:/in/{name}", size, 0)


def begun(place: Path) -> ledger.Ledger:
    """The ledger of a run that found none."""
    found = ledger.load(FILES, str(place))
    found.note(FILES, {}, {})
    return found


def commit(found: ledger.Ledger, *names: str) -> None:
    found.plan(FILES, [file(name) for name in names])
    found.finish(FILES)


def loaded(place: Path) -> ledger.Ledger:
    return ledger.load(FILES, str(place))


def test_what_was_committed_was_read(tmp_path: Path) -> None:
    assert not ledger.exists(FILES, str(tmp_path))
    assert ledger.last_epoch(FILES, str(tmp_path)) == -1
    found = begun(tmp_path)
    assert ledger.exists(FILES, str(tmp_path))
    commit(found, "a", "b")
    commit(found, "c")
    again = loaded(tmp_path)
    assert again == found
    assert (again.epoch, again.planned) == (2, None)
    assert again.read == dict.fromkeys("abc", (1, 0))
    assert ledger.last_epoch(FILES, str(tmp_path)) == 1


@pytest.mark.parametrize("was_made", [True, False])
def test_what_was_planned_may_have_been_committed(tmp_path: Path, was_made: bool) -> None:
    found = begun(tmp_path)
    commit(found, "a")
    found.plan(FILES, [file("b", 7)])
    again = loaded(tmp_path)
    assert (again.epoch, again.planned) == (1, {"b": (7, 0)})
    assert set(again.read) == {"a"}
    assert ledger.last_epoch(FILES, str(tmp_path)) == 1
    if was_made:
        again.finish(FILES)
    else:
        again.forget(FILES)
    after = loaded(tmp_path)
    assert (after.epoch, after.planned) == (1 + was_made, None)
    assert set(after.read) == ({"a", "b"} if was_made else {"a"})


def test_a_file_that_is_held_is_held_until_it_is_read(tmp_path: Path) -> None:
    found = begun(tmp_path)
    commit(found, "a")
    found.note(FILES, {"b": None}, dict.fromkeys("abcd", 5))
    assert loaded(tmp_path).held == {"c": 5, "d": 5}
    commit(found, "c")
    again = loaded(tmp_path)
    assert again == found
    assert (again.held, set(again.read)) == ({"d": 5}, {"a", "b", "c"})
    # An earlier version noted no time.
    [noted] = (tmp_path / "files").glob("*.all")
    noted.write_text(noted.read_text().replace('{"c": 5, "d": 5}', '["d"]'))
    assert loaded(tmp_path).held == {"d": -1}


def test_files_of_many_commits_are_put_together(tmp_path: Path) -> None:
    found = begun(tmp_path)
    names = [f"{number:03}" for number in range(113)]
    for name in names:
        commit(found, name)
    # Those of a run, and then those of several runs.
    entries = {entry.name for entry in (tmp_path / "files").iterdir()}
    assert entries == {"100.all", *map(str, range(100, 113))}
    assert set(loaded(tmp_path).read) == set(names)
    assert [entry.name for entry in (tmp_path / "files").iterdir()] == ["113.all"]
    again = loaded(tmp_path)
    assert (set(again.read), again.epoch) == (set(names), 113)


@pytest.mark.parametrize("schema", [[], ["id"]])
def test_a_column_that_comes_or_goes_is_told_once(tmp_path: Path, schema: list[str]) -> None:
    found = begun(tmp_path)

    def told(*headers: list[str | None]) -> list[list[str]]:
        again = loaded(tmp_path)
        changed = again.changed_columns(FILES, [("a", header) for header in headers], schema)
        assert loaded(tmp_path) == again
        return [list(columns) for columns in changed]

    # Those of the first files are no news, and a ledger of an earlier version does not know them.
    found.unnamed = []
    found.save(FILES)
    assert told(["id", "a", None], ["id", "a", "b"]) == [[], []]
    assert told(["id", "A", "b", "c"], ["id", "a"]) == [["c"], []]
    assert told(["id", "a", "b"], ["ID", "a", "b", "c"]) == [[], []]
    # What the schema does not name may go: nothing is read of it.
    assert told(["a"], ["id"]) == [[], ["id"] if schema else ["id", "a"]]
    assert told(["id"], ["b"], ["id", "a", "b", "c"]) == [[], []]


def test_where_names_begin_is_kept(tmp_path: Path) -> None:
    found = begun(tmp_path)
    found.begin_at(FILES, "file:/in", "file:/home/c")
    commit(found, "a")
    again = loaded(tmp_path)
    assert (again.base, again.root, again.epoch) == ("file:/in", "file:/home/c", 1)
    assert again == found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("1", None),
        ("1", ""),
        ("0.all", '{"read": {}, "hel'),
        ("0", "{"),
        ("2.planned", "[]]"),
    ],
)
def test_damage_is_told_and_what_to_do(tmp_path: Path, name: str, text: str | None) -> None:
    found = begun(tmp_path)
    commit(found, "a")
    commit(found, "b")
    found.plan(FILES, [file("c")])
    damaged = tmp_path / "files" / name
    if text is None:
        damaged.unlink()
    else:
        damaged.write_text(text)
    with pytest.raises(StreamError, match=re.escape(f"Delete the folder {tmp_path}: ")) as error:
        loaded(tmp_path)
    assert str(error.value).startswith(f"{damaged} is missing, or is not as it was written.")
