"""Small files on any file system that Spark knows, through Hadoop's own client."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from alluvium.engine import jvm

_WILDCARD = re.compile(r"[\\{}\[\]*?]")


class Files:
    """Read, replace and delete small files and folders by path or URI."""

    def __init__(self, session: SparkSession):
        self._session = session
        self._jvm: Any = session._jvm
        self._gateway: Any = session.sparkContext._gateway
        self._conf: Any = session._jsparkSession.sessionState().newHadoopConf()

    @cached_property
    def _small(self) -> Any:
        """`SmallFiles` of our own jar: one call of the JVM for each."""
        return jvm.new_own(self._session, "alluvium.SmallFiles", self._conf)

    def _open(self, path: str) -> tuple[Any, Any]:
        where = self._jvm.org.apache.hadoop.fs.Path(path)
        return where.getFileSystem(self._conf), where

    @property
    def name_encoding(self) -> str:
        """By which Java reads the names of local files."""
        return str(self._jvm.java.lang.System.getProperty("sun.jnu.encoding"))

    def is_there(self, path: str) -> bool:
        """Whether exactly this path exists."""
        fs, where = self._open(path)
        return bool(fs.exists(where))

    def make_folder(self, path: str) -> None:
        fs, where = self._open(path)
        fs.mkdirs(where)

    def is_literal(self, path: str) -> bool:
        """Whether a path with a wildcard's characters is a name itself, and matches nothing else.

        A folder above the source, as that of the project, may have any name.
        """
        if not _WILDCARD.search(path):
            return False
        fs, where = self._open(path)
        if not fs.exists(where):
            return False
        found = fs.globStatus(where)
        return found is None or len(found) == 0

    def is_glob(self, path: str) -> bool:
        """Whether a path means what its wildcards match."""
        return bool(_WILDCARD.search(path)) and not self.is_literal(path)

    def names(self, folder: str) -> list[str]:
        """Names in the folder; none where it is absent."""
        return str(self._small.names(folder)).split("\0")[:-1]

    def qualified(self, path: str) -> str:
        """The path with its file system, as paths are written."""
        fs, where = self._open(path)
        return str(fs.makeQualified(where).toString())

    def size(self, path: str) -> int | None:
        """Of a file, in bytes; None where it is absent."""
        found = self.stamp(path)
        return found and found[0]

    def stamp(self, path: str) -> tuple[int, int] | None:
        """A file's size in bytes and its time in ms since 1970; None where it is absent."""
        found = self._small.stamp(path)
        if found is None:
            return None
        size, _, time = str(found).partition(" ")
        return int(size), int(time)

    def read(self, path: str) -> str | None:
        """The text of a file; None where it is absent."""
        found = self._small.read(path)
        return None if found is None else str(found)

    def first_line(self, path: str) -> str | None:
        """The first line of a file; None where it is absent or empty."""
        line = self._small.firstLine(path)
        return None if line is None else str(line)

    def replace(self, path: str, text: str) -> None:
        """Write a file so that a reader sees the old text or the new one, never a part."""
        self._small.replace(path, text)

    def rename(self, path: str, new: str) -> None:
        """Give a file another name, in whatever folder.

        Raises:
            FileExistsError: A file has that name.
        """
        fs, where = self._open(path)
        to = fs.makeQualified(self._jvm.org.apache.hadoop.fs.Path(new))
        fs.mkdirs(to.getParent())
        rename = self._jvm.org.apache.hadoop.fs.Options.Rename
        flags = self._gateway.new_array(rename, 1)
        flags[0] = rename.NONE
        context = self._jvm.org.apache.hadoop.fs.FileContext
        try:
            context.getFileContext(to.toUri(), self._conf).rename(
                fs.makeQualified(where), to, flags
            )
        except Py4JJavaError as error:
            if "FileAlreadyExistsException" in str(error.java_exception):
                raise FileExistsError(new) from error
            raise

    def delete_empty(self, folder: str) -> None:
        """Delete a folder that nothing is in; one may be absent."""
        fs, where = self._open(folder)
        with suppress(Py4JJavaError):  # something came into it meanwhile
            if not self.names(folder):
                fs.delete(where, False)

    def delete(self, path: str) -> None:
        """Delete a file, or a folder and all in it; one may be absent."""
        fs, where = self._open(path)
        fs.delete(where, True)
