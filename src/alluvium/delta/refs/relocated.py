"""A table whose log names files by absolute paths gets them in another place."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession

from alluvium.delta.log import committing, log
from alluvium.engine import jvm
from alluvium.engine.files import Files
from alluvium.paths import Place


class Relocation:
    """The way of a table's files and vectors from old folders to new ones, in one commit.

    No row changes. Earlier versions name the old folders for good.

    Args:
        table: its name, as SQL writes it.
        places: by the old folder the new one, both as `Place` writes them.
    """

    def __init__(self, session: SparkSession, table: str, places: Mapping[str, str]) -> None:
        self._copy = jvm.SessionCopy(session)
        self._places = [(Place.of(old), Place.of(new)) for old, new in places.items()]
        self._store = Files(session)
        with self._copy.active():
            self._log = log.delta_log(session, table)
            self._snapshot = log.newest_of(session, self._log)
        self._root = Place.of(log.qualified(self._log))

    @cached_property
    def _moves(self) -> list[tuple[Any, dict[str, Any]]]:
        """Files that lie in an old folder, or whose vectors do, and what they are in the new."""
        found = []
        with self._copy.active():
            files = list(self._snapshot.allFiles().collectAsList())
        for file in files:
            old = committing.fields(file)
            new = {**old, "dataChange": False}
            new["path"] = self._new_uri(old["path"]) or old["path"]
            vector = old.get("deletionVector") or {}
            if vector.get("storageType") == "p":
                path = vector["pathOrInlineDv"]
                new["deletionVector"] = {**vector, "pathOrInlineDv": self._new_uri(path) or path}
            if new["path"] != old["path"] or new.get("deletionVector") != old.get("deletionVector"):
                found.append((file, new))
        return found

    def _new_uri(self, uri: str) -> str | None:
        """A URI of the log in the new place; None for one that lies in no old folder."""
        whole = Place.of_uri(uri, self._root)
        for old, new in self._places:
            if inside := whole.inside(old):
                return (new / inside).uri
        return None

    def missing(self) -> list[str]:
        """New places in which no file lies, or one of another size."""
        found = []
        for old, new in self._moves:
            path = new["path"]
            if path != old.path() and self._store.size(str(Place.of_uri(path))) != new["size"]:
                found.append(str(path))
            vector = new.get("deletionVector") or {}
            if vector.get("storageType") == "p":
                path = str(Place.of_uri(vector["pathOrInlineDv"]))
                if not self._store.is_there(path):
                    found.append(path)
        return found

    def commit(self, message: str) -> int:
        """Make the commit; its version. Raises Delta's exceptions where others wrote meanwhile."""
        now = int(time.time() * 1000)
        self._copy.set(committing.COMMIT_METADATA, message)
        with self._copy.active():
            transaction = committing.transaction(self._copy.session, self._snapshot)
            transaction.readWholeTable()
            actions = [
                *(old.removeWithTimestamp(now, False) for old, _ in self._moves),
                *(committing.add_file(self._copy.session, new) for _, new in self._moves),
            ]
            operation = committing.optimize(self._copy.session)
            return int(transaction.commit(self._copy.seq(actions), operation))
