"""The files of a landing folder, beside what Spark lists for a reader."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from alluvium.engine import many_files

pytestmark = pytest.mark.spark

FILES = (
    *("1.json", "2.csv", "_3.json", ".4.json", "_5=1.json", "6.json._COPYING_", "empty.json"),
    *("a/1.json", "a/b/7.json", "_a/1.json", "_a=1/1.json", ".a/1.json", "_temporary/0/1.json"),
    *("a b/ü%20+#&.json", "[x]/1.json", "x/1.json", "{a,x}/8.json", "*/9.json"),
)


def spark_lists(spark: SparkSession, landing: Path, where: str, names: str) -> list[str] | None:
    """What Spark reads, but for what lies in hidden folders that a wildcard matches."""
    path = str(landing / where)
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    if names:
        reader = reader.option("pathGlobFilter", names)
    try:
        frame = reader.load(path)
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return None
    paths = (unquote(file.removeprefix("file://")) for file in frame.inputFiles())
    found = sorted(one for one in paths if Path(one).stat().st_size)
    if not set("*{[") & set(where):
        return found
    steps = {one: one.removeprefix(f"{landing}/").split("/") for one in found}
    return [one for one in found if not any(map(is_hidden, steps[one]))]


def is_hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("landing")
    for number, name in enumerate(FILES):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"" if name == "empty.json" else b"x" * (number + 1))
    (folder / "nothing").mkdir()
    (folder / "link.json").symlink_to(folder / "1.json")
    (folder / "linked").symlink_to(folder / "a")
    (folder / "dangling.json").symlink_to(folder / "gone")
    return folder


@pytest.mark.parametrize(
    "path", ["", "a", "1.json", "_3.json", "nothing", "gone", "*", "*/1.json", "{a,x}", "g*"]
)
def test_a_listing_is_sparks(spark: SparkSession, landing: Path, path: str) -> None:
    where = str(landing / path)
    is_glob = any(character in path for character in "*{[")
    for names in ("", "*.json", "{1,7}.*"):
        found = many_files.found_at(spark, where, is_glob=is_glob, names=names)
        with_content = None
        if found is not None:
            with_content = sorted(path.removeprefix("file:") for path, size, _ in found if size)
        assert with_content == spark_lists(spark, landing, path, names), names
        for one, size, modified in found or []:
            stat = Path(one.removeprefix("file:")).stat()
            assert (size, modified) == (stat.st_size, stat.st_mtime_ns // 1_000_000)


def test_a_name_with_wildcards_is_itself(spark: SparkSession, landing: Path) -> None:
    for folder, name in (("[x]", "1.json"), ("{a,x}", "8.json"), ("*", "9.json")):
        [(path, size, _)] = many_files.found_at(spark, str(landing / folder)) or []
        assert path == f"file:{landing}/{folder}/{name}"
        assert size == (landing / folder / name).stat().st_size
