"""Homes that were moved or copied.

The embedded metastore keeps absolute places of its tables. In a copy they name the tables of the
original, which the copy would then write. So a home keeps the place that its metastore names, and
elsewhere the metastore is told the new one before anything else asks it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from alluvium.engine import EngineError
from alluvium.paths import Place, is_absolute

_NOTE = "made_at"
# Where the home was before, until its tables show nothing there any more.
_MOVED_FROM = "moved_from"
# What the metastore keeps of places: table, its key, the place, and which rows hold one.
_PLACES = (
    ("DBS", "DB_ID", "DB_LOCATION_URI", ""),
    ("SDS", "SD_ID", "LOCATION", ""),
    ("SERDE_PARAMS", "SERDE_ID", "PARAM_VALUE", " where PARAM_KEY = 'path'"),
)
_TABLES = (
    "select d.NAME, t.TBL_NAME, s.LOCATION from APP.TBLS t join APP.DBS d on t.DB_ID = d.DB_ID"
    " join APP.SDS s on t.SD_ID = s.SD_ID where t.TBL_TYPE <> 'VIRTUAL_VIEW'"
)
_SHOWN = 5


def database(home: Path) -> Path:
    """The folder of a home's embedded metastore."""
    return home / "metastore" / "db"


def remove_half_made(home: Path) -> None:
    """Remove what a process left that was killed while Derby made its database.

    Derby refuses to open it, and nothing is in it: its properties come before the first table.
    """
    made = database(home)
    if made.is_dir() and not any(made.glob("service.properties*")):
        shutil.rmtree(made)


@dataclass(frozen=True)
class HomeMove:
    """A home's way from `old` to `new`, both absolute."""

    old: Path
    new: Path

    def place(self, uri: str) -> str:
        """Where something that lay at `uri` lies now: the same, if it was outside of the home."""
        is_inside = is_absolute(uri) and Place.of(uri).inside(Place.of(str(self.old))) is not None
        return uri.replace(str(self.old), str(self.new), 1) if is_inside else uri

    def missing(self, tables: Mapping[str, str]) -> list[str]:
        """Of tables of the home, by name where they lay, those that did not come along."""
        return [
            name
            for name, uri in tables.items()
            if self.place(uri) != uri and not _path(self.place(uri)).exists()
        ]

    def were_left(self, missing: list[str], tables: Mapping[str, str]) -> bool:
        """Whether the home is only a part of what it was.

        A table whose folder is in neither place was lost before: it stops no move, unless nothing
        came along at all.
        """
        ours = [name for name, uri in tables.items() if self.place(uri) != uri]
        return bool(missing) and (
            len(missing) == len(ours) or any(_path(tables[name]).exists() for name in missing)
        )


def _path(uri: str) -> Path:
    return Path(Place.of(uri).path)


def settle(session: SparkSession, home: Path, *, own_warehouse: bool) -> str | None:
    """Let the metastore's tables be those of this home, wherever it was made.

    Nothing may have asked the metastore before. A kill at any point leaves the places of before,
    or those of now.

    session: gives the JVM.
    own_warehouse: whether the warehouse is the home's; another one's places are nobody's to move.

    Returns:
        A sentence that says what was done; None for a home that is where it was.

    Raises:
        EngineError: the home was moved and some of its tables were not. Nothing is changed.
    """
    note = home / "metastore" / _NOTE
    made_at = Path(note.read_text()) if note.exists() else None
    if made_at == home:
        return None
    if not database(home).exists() or (made_at is None and not own_warehouse):
        _write(note, home)
        return None
    metastore = _Metastore(session, database(home))
    try:
        made_at = made_at or metastore.warehouse().parent
        if made_at != home:
            _write(home / "metastore" / _MOVED_FROM, made_at)
        said = None if made_at == home else metastore.move(HomeMove(made_at, home))
    finally:
        metastore.close()
    _write(note, home)
    return said


def moved_from(home: Path) -> Path | None:
    """Where the home was before; None where nothing of it may show files there."""
    note = home / "metastore" / _MOVED_FROM
    return Path(note.read_text()) if note.exists() else None


def arrived(home: Path) -> None:
    """Note that no table of a home that was moved shows files of the old place any more."""
    (home / "metastore" / _MOVED_FROM).unlink(missing_ok=True)


def _write(note: Path, home: Path) -> None:
    draft = note.with_name(f"{note.name}.new")
    draft.write_text(str(home))
    draft.replace(note)


class _Metastore:
    """The database of an embedded metastore, by JDBC."""

    def __init__(self, session: SparkSession, database: Path) -> None:
        jvm: Any = session._jvm
        self._drivers = jvm.java.sql.DriverManager
        self._url = f"jdbc:derby:;databaseName={database}"
        self._open: Any = self._drivers.getConnection(self._url)
        self._open.setAutoCommit(False)

    def warehouse(self) -> Path:
        """The warehouse of before: where the metastore was first told to put tables."""
        rows = self._rows("select NAME, DB_LOCATION_URI from APP.DBS where NAME = 'default'")
        return _path(rows[0][1])

    def move(self, move: HomeMove) -> str:
        tables = {f"{schema}.{name}": uri for schema, name, uri in self._rows(_TABLES) if uri}
        missing = move.missing(tables)
        named = ", ".join(missing[:_SHOWN]) + (", …" if len(missing) > _SHOWN else "")
        if move.were_left(missing, tables):
            raise EngineError(
                f"The home {move.new} was made in {move.old}, and was moved or copied without"
                f" {len(missing)} of its tables ({named}). Nothing was changed. Copy the whole"
                " folder, or set another `home` in the profile."
            )
        for table, key, column, where in _PLACES:
            for number, uri in self._rows(f"select {key}, {column} from APP.{table}{where}"):
                if uri is not None and move.place(uri) != uri:
                    also = where.replace("where", "and")
                    self._update(
                        f"update APP.{table} set {column} = ? where {key} = ?{also}",
                        move.place(uri),
                        int(number),
                    )
        self._open.commit()
        lost = f" Folders of these are missing: {named}." if missing else ""
        return (
            f"The home {move.new} was made in {move.old}. Its metastore now names the"
            f" {len(tables)} tables of the new place; the old one stays as it is.{lost}"
        )

    def _rows(self, sql: str) -> list[list[str]]:
        found = self._open.createStatement().executeQuery(sql)
        width = found.getMetaData().getColumnCount()
        rows = []
        while found.next():
            rows.append([found.getString(place + 1) for place in range(width)])
        return rows

    def _update(self, sql: str, place: str, number: int) -> None:
        statement = self._open.prepareStatement(sql)
        statement.setString(1, place)
        statement.setLong(2, number)
        statement.executeUpdate()
        statement.close()

    def close(self) -> None:
        """Shut the database down: Hive opens it by a class loader of its own."""
        self._open.rollback()
        self._open.close()
        try:
            self._drivers.getConnection(f"{self._url};shutdown=true")
        except Exception as error:
            if "08006" not in str(error) and "shutdown" not in str(error):  # how Derby says yes
                raise
