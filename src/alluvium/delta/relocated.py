"""A table whose log names files by absolute paths gets them in another place."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession

from alluvium.delta import committing, log
from alluvium.engine import jvm
from alluvium.engine.files import Files
from alluvium.engine.handles import HadoopPath


class Relocation(jvm.SessionCopy):
    """The way of a table's files and vectors from old folders to new ones, in one commit.

    No row changes. Earlier versions name the old folders for good.

    Args:
        table: its name, as SQL writes it.
        places: by the old folder the new one, both plain URIs (`file:/a b`).
    """

    def __init__(self, session: SparkSession, table: str, places: Mapping[str, str]) -> None:
        super().__init__(session)
        self._places = places
        self._store = Files(session)
        with self.active():
            self._log = log.delta_log(session, table)
            self._snapshot = log.newest_of(session, self._log)

    @cached_property
    def _moves(self) -> list[tuple[Any, dict[str, Any]]]:
        """Files that lie in an old folder, or whose vectors do, and what they are in the new."""
        found = []
        with self.active():
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
        whole = str(self._path(uri)) if ":" in uri.split("/", 1)[0] or uri.startswith("/") else ""
        for old, new in self._places.items():
            if whole.startswith(f"{old}/"):
                return self._store.uri(new + whole[len(old) :])
        return None

    def _path(self, uri: str) -> HadoopPath:
        path = self._jvm.org.apache.hadoop.fs.Path(self._jvm.java.net.URI(uri))
        system = path.getFileSystem(self._log.newDeltaHadoopConf())
        whole: HadoopPath = system.makeQualified(path)
        return whole

    def missing(self) -> list[str]:
        """New places in which no file lies, or one of another size."""
        found = []
        for old, new in self._moves:
            size = self._store.size(str(self._path(new["path"])))
            if new["path"] != old.path() and size != new["size"]:
                found.append(str(new["path"]))
            vector = new.get("deletionVector") or {}
            if vector.get("storageType") == "p":
                path = str(self._path(vector["pathOrInlineDv"]))
                if not self._store.is_there(path):
                    found.append(path)
        return found

    def commit(self, message: str) -> int:
        """Make the commit; its version. Raises Delta's exceptions where others wrote meanwhile."""
        now = int(time.time() * 1000)
        self.set(committing.COMMIT_METADATA, message)
        with self.active():
            transaction = committing.transaction(self.session, self._snapshot)
            transaction.readWholeTable()
            actions = [
                *(old.removeWithTimestamp(now, False) for old, _ in self._moves),
                *(committing.add_file(self.session, new) for _, new in self._moves),
            ]
            operation = committing.optimize(self.session)
            return int(transaction.commit(self._seq(actions), operation))
