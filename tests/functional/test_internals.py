"""What is called of Spark and Delta, where neither promises it, is in the pinned jars."""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path

from functional.runner import add_jars

from alluvium.delta import internals as delta
from alluvium.engine import internals as spark
from alluvium.engine import jars, java, own_jar, versions

MEMBERS = Path(__file__).parents[1] / "support/Members.java"
INTERNALS = {
    one.name: one.members
    for module in (spark, delta)
    for one in vars(module).values()
    if isinstance(one, spark.Internal)
}
# The compiler stops at the first mistake in a file.
IMPORTS = re.compile(r"^import ([\w.]+);", re.MULTILINE)


def test_all_is_there(tmp_path: Path) -> None:
    """One JVM, without Spark: an upgrade begins with the list that this fails with."""
    ours = "".join(one.read_text() for one in own_jar._SOURCES)
    # A class inside another one.
    imported = {re.sub(r"(\.[A-Z]\w*)\.", r"\1$", name) for name in IMPORTS.findall(ours)}
    asked = [*map(str, own_jar._SOURCES), *sorted(imported | INTERNALS.keys())]
    there = defaultdict[str, set[str]](set)
    for line in members(asked, tmp_path).splitlines():
        name, _, member = line.partition("\t")
        there[name].add(member)
    assert list(there) == asked
    missing = [f"{name}: {one}" for name in asked for one in there[name] if one.startswith("!")]
    found = {name: called for name, called in INTERNALS.items() if "" in there[name]}
    for name, called in found.items():
        for member in (one for one in called if one not in there[name]):
            others = [one for one in there[name] if one.startswith(f"{member.partition('(')[0]}(")]
            missing.append(f"{name}: {member}; there is: {', '.join(others) or 'none'}")
    assert not missing, "\n".join(missing)


def members(asked: list[str], home: Path) -> str:
    """What `Members.java` prints, compiled as our own Java is."""
    shipped = versions.spark_home() / "jars"
    class_path = [str(shipped / "*"), *map(str, jars.resolve(add_jars(home)))]
    command = [
        *(str(java.check().path), "-XX:TieredStopAtLevel=1"),
        *("-cp", os.pathsep.join(class_path)),
        *("org.codehaus.janino.SimpleCompiler", str(MEMBERS), "Members", *asked),
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
