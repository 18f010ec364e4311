"""What is called of Spark and Delta, where neither promises it, is in the pinned jars."""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from inspect import isfunction
from pathlib import Path

from functional.runner import add_jars

from alluvium.delta import handles
from alluvium.delta import internals as delta
from alluvium.engine import handles as spark_handles
from alluvium.engine import internals as spark
from alluvium.engine import jars, java, own_jar, versions

MEMBERS = Path(__file__).parents[1] / "support/Members.java"
INTERNALS = {
    one.name: one.members
    for module in (spark, delta)
    for one in vars(module).values()
    if isinstance(one, spark.Internal)
}
# What the objects are of whose methods are called. Any column has all that is called of one.
HANDLES: dict[type, str] = {
    handles.DeltaAction: "org.apache.spark.sql.delta.actions.Action",
    handles.DeltaFile: "org.apache.spark.sql.delta.actions.AddFile",
    handles.DeltaLog: "org.apache.spark.sql.delta.DeltaLog",
    handles.DeltaMergeCommand: "org.apache.spark.sql.delta.commands.MergeIntoCommand",
    handles.DeltaMetadata: "org.apache.spark.sql.delta.actions.Metadata",
    handles.DeltaOperation: "org.apache.spark.sql.delta.DeltaOperations$Operation",
    handles.DeltaSnapshot: "org.apache.spark.sql.delta.Snapshot",
    handles.DeltaTransaction: "org.apache.spark.sql.delta.OptimisticTransaction",
    handles.DeltaVector: "org.apache.spark.sql.delta.actions.DeletionVectorDescriptor",
    spark_handles.HadoopConf: "org.apache.hadoop.conf.Configuration",
    spark_handles.HadoopPath: "org.apache.hadoop.fs.Path",
    spark_handles.JavaExpression: "org.apache.spark.sql.catalyst.expressions.AttributeReference",
    spark_handles.JavaFrame: "org.apache.spark.sql.classic.Dataset",
    spark_handles.JavaFunctions: "org.apache.spark.sql.functions",
    spark_handles.JavaOption: "scala.Option",
    spark_handles.JavaPlan: "org.apache.spark.sql.catalyst.plans.logical.Join",
    spark_handles.JavaRelation: "org.apache.spark.sql.execution.datasources.LogicalRelation",
    spark_handles.JavaSeq: "scala.collection.immutable.Seq",
}
# The compiler stops at the first mistake in a file.
IMPORTS = re.compile(r"^import ([\w.]+);", re.MULTILINE)


def test_all_is_there(tmp_path: Path) -> None:
    """One JVM, without Spark: an upgrade begins with the list that this fails with."""
    ours = "".join(one.read_text() for one in own_jar._SOURCES)
    # A class inside another one.
    imported = {re.sub(r"(\.[A-Z]\w*)\.", r"\1$", name) for name in IMPORTS.findall(ours)}
    names = imported | INTERNALS.keys() | set(HANDLES.values())
    asked = [*map(str, own_jar._SOURCES), *sorted(names)]
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
    described = [(handle, name) for handle, name in HANDLES.items() if "" in there[name]]
    for handle, name in described:
        called = {one for one, value in vars(handle).items() if isfunction(value)}
        has = {one.lstrip("#").partition("(")[0] for one in there[name]}
        missing += [f"{name}: {one}" for one in sorted(called - has) if not one.startswith("_")]
    assert not missing, "\n".join(missing)


def test_handles_are_looked_for() -> None:
    every = {
        one
        for module in (handles, spark_handles)
        for one in vars(module).values()
        if isinstance(one, type) and one.__module__ == module.__name__
    }
    assert every - HANDLES.keys() == {spark_handles.JavaColumn, spark_handles.JavaObject}


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
