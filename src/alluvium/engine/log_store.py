"""Delta's log stores for local disks and S3: commits that two processes cannot both make.

Their source is Java, in the jar that ``own_jar`` makes.
"""

from collections.abc import Mapping
from pathlib import Path

from alluvium.engine import properties

CLASS = "alluvium.ExclusiveLogStore"
S3_CLASS = "alluvium.ConditionalLogStore"
# What Spark writes logs of streams by, and Delta its checksum files.
_FILES, _WHOLE_FILES = "spark.sql.streaming.checkpointFileManagerClass", "alluvium.WholeFiles"


def conf(
    theirs: Mapping[str, str], home: Path | None = None, *, single_writer: bool = False
) -> dict[str, str]:
    """Spark properties that give tables these log stores; none where `theirs` names another.

    Args:
        theirs: the profile's Spark properties.
        home: where S3's notes which buckets refuse a second commit; without it each JVM looks.
        single_writer: tables on S3 keep Delta's own.
    """
    found = _of_scheme("file", CLASS, theirs)
    if properties.names_s3(theirs) and not single_writer:
        of_s3 = _of_scheme("s3a", S3_CLASS, theirs)
        found |= of_s3
        if of_s3 and _FILES not in theirs:
            found[_FILES] = _WHOLE_FILES
        if home is not None:
            found["spark.hadoop.alluvium.s3.refusing"] = str(home / "s3-refusing")
    return found


def _of_scheme(scheme: str, store: str, theirs: Mapping[str, str]) -> dict[str, str]:
    # Delta's keys, with and without Spark's prefix. Delta refuses a class for all schemes beside
    # one for a single scheme, so any of them in a profile means that ours stays away.
    keys = ("class", f"{scheme}.impl")
    if any(f"{prefix}delta.logStore.{key}" in theirs for prefix in ("spark.", "") for key in keys):
        return {}
    # The second key is that of Delta Kernel, which Spark's newer path to Delta is built on.
    return {
        f"spark.delta.logStore.{scheme}.impl": store,
        f"spark.hadoop.io.delta.kernel.logStore.{scheme}.impl": store,
    }
