"""Delta's log store for local disks: commits that two processes cannot both make.

Its source is Java: ``ExclusiveLogStore.java``, in the jar that ``own_jar`` makes.
"""

from collections.abc import Mapping

CLASS = "alluvium.ExclusiveLogStore"

# Delta's keys of a log store, with and without Spark's prefix. Delta refuses a class for all
# schemes beside one for a single scheme, so any of them in a profile means that ours stays away.
_THEIRS = tuple(
    f"{prefix}delta.logStore.{key}" for prefix in ("spark.", "") for key in ("class", "file.impl")
)


def conf(theirs: Mapping[str, str]) -> dict[str, str]:
    """Spark properties that give local tables this log store; none where `theirs` names another.

    The second key is that of Delta Kernel, which Spark's newer path to Delta is built on.
    """
    if any(key in theirs for key in _THEIRS):
        return {}
    return {
        "spark.delta.logStore.file.impl": CLASS,
        "spark.hadoop.io.delta.kernel.logStore.file.impl": CLASS,
    }
