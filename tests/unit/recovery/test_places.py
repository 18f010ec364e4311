"""Where the files of a home that was copied lie in the copy."""

from __future__ import annotations

from alluvium.recovery.places import new_places


class Store:
    """Files of which only logs are known, by their very names."""

    def __init__(self, *tables: str) -> None:
        self._logs = {f"{table}/_delta_log" for table in tables}

    def is_there(self, path: str) -> bool:
        return path in self._logs


def test_the_same_table_in_this_home() -> None:
    # A home whose name would be a pattern, and one that the pattern would find.
    home = "file:/copy {1}[a]"
    files = Store(f"{home}/lake/flights", f"{home}/lake/a/b", "file:/copy {1}a/lake/gone")
    folders = [
        "file:/old/lake/flights/day=1",
        "file:/old/lake/flights/day=2",
        "file:/old/lake/a/b",
        "file:/old/lake/gone",
        f"{home}/lake/other/day=1",
    ]
    assert new_places(files, [home], folders) == {
        "file:/old/lake/flights": f"{home}/lake/flights",
        "file:/old/lake/a/b": f"{home}/lake/a/b",
        "file:/old/lake/gone": None,
    }
