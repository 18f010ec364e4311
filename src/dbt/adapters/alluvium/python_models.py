"""dbt Python models in the session of their node."""

from __future__ import annotations

import linecache
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from dbt_common.exceptions import DbtRuntimeError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import NullType, StructType

from alluvium.delta.log import own_commit
from alluvium.engine import jvm, zone
from alluvium.engine.data_types import holds
from dbt.adapters.alluvium import told
from dbt.adapters.alluvium.figures import ModelResponse, of_statement
from dbt.adapters.alluvium.handle import SessionHandle

# The names under which create_table_as leaves the write for us, after the user's code.
_VIEW, _SQL = "__alluvium_view", "__alluvium_sql"


def check_submission_method(method: str) -> None:
    if method != "session":
        raise DbtRuntimeError(
            f"submission_method {method!r} is not known on an alluvium target."
            " Accepted: 'session' (the default)."
        )


def run(
    handle: SessionHandle,
    parsed_model: dict[str, Any],
    code: str,
    source: Path | None,
    live: Mapping[str, str],
    check: Callable[[list[str]], None],
) -> ModelResponse:
    """Run the model's code, and write what it returns.

    source: the user's file, if it is known.
    live: queries that stand for the relations of these names, which hold more than a reader sees.
    check: raises where the settings name a column that the frame does not have.

    Raises:
        DbtRuntimeError: the model failed (with the user's file and line) or returned something
            that is not a frame.
    """
    path = parsed_model["original_file_path"]
    session = handle.session
    started = time.perf_counter()
    # dbt has the user's file first, without the blank lines that it begins with: lines must agree.
    code = "\n" * _leading_lines(source) + code.lstrip()
    linecache.cache[path] = (len(code), None, code.splitlines(keepends=True), path)
    handle.cursor()  # names the job group, so that Ctrl-C reaches the model's jobs too
    # pandas-on-Spark asks for the active session: of the thread in the JVM, of the process here.
    jvm.activate(session)
    SparkSession._activeSession = session
    scope: dict[str, Any] = {"__name__": "dbt_python_model", "spark": session}
    try:
        # Not with what this file imports from the future: pandas_udf reads annotations as types.
        exec(compile(code, path, "exec", dont_inherit=True), scope)
        dbt = scope["dbtObj"](lambda name: handle.table(live.get(name, name)))
        returned = scope["model"](dbt, session)
        frame = _as_spark(session, returned)
        check_columns(frame.schema)
    except Exception as error:
        raise DbtRuntimeError(_explain(path, error)) from error
    check(frame.columns)
    view, sql = scope[_VIEW], scope[_SQL]
    # A pandas-on-Spark frame may belong to another session of this process, its view with it.
    owner = frame.sparkSession
    zone.settle(owner)
    frame.createOrReplaceTempView(view)
    begun = own_commit.begin(owner)
    try:
        result = owner.sql(sql)
    except (PySparkException, Py4JError) as error:
        # Lazy frames fail here, possibly in a user's function: Spark knows its lines.
        raise DbtRuntimeError(told.message(error)) from error
    finally:
        owner.catalog.dropTempView(view)
    return of_statement(owner, sql, result, time.perf_counter() - started, begun)


def _leading_lines(source: Path | None) -> int:
    if source is None or not source.is_file():
        return 0
    text = source.read_text(encoding="utf-8")
    return text[: len(text) - len(text.lstrip())].count("\n")


def _as_spark(session: SparkSession, returned: Any) -> DataFrame:
    if isinstance(returned, DataFrame):
        return returned
    if isinstance(returned, pd.DataFrame):
        if len(returned) == 0:
            # Spark takes the types of an empty frame for unknown, pandas knows most of them.
            schema = from_arrow_schema(pa.Schema.from_pandas(returned, preserve_index=False))
            return session.createDataFrame([], schema)
        return session.createDataFrame(returned)
    if type(returned).__module__.startswith("pyspark.pandas"):
        with warnings.catch_warnings():
            # The index is not a column of a dbt model, whichever frame it returns.
            warnings.filterwarnings("ignore", message="If `index_col` is not specified")
            return returned.to_spark()
    raise TypeError(
        f"model() returned {type(returned).__name__}; accepted: a Spark, pandas or"
        " pandas-on-Spark DataFrame"
    )


def check_columns(schema: StructType) -> None:
    """Raise where no table can have these columns, before anything is written.

    Spark and Delta take a column of NULLs alone for one without a type. Another column must have
    one, and nothing in a struct, array or map may be without it.
    """
    if not schema.fields:
        raise ValueError("model() returned a frame without columns; accepted: at least one column")
    untyped = [field for field in schema if holds(field.dataType, NullType)]
    inside = [f for f in untyped if not isinstance(f.dataType, NullType)]
    if inside or len(untyped) == len(schema.fields):
        columns = ", ".join(f"{f.name} ({f.dataType.simpleString()})" for f in inside or untyped)
        raise ValueError(
            f"model() returned columns of which nothing tells the type: {columns}. Give them one: "
            "`session.createDataFrame(rows, 'name type, …')` takes no rows and None too"
        )


def _explain(path: str, error: Exception) -> str:
    """What was raised, then the lines of the model's file that it went through."""
    if isinstance(error, SyntaxError):
        at = [f"at {path}:{error.lineno}: {(error.text or '').strip()}"]
        return "\n".join([f"{type(error).__name__}: {error.msg}", *at])
    if isinstance(error, (PySparkException, Py4JError)):
        said = told.message(error)
    else:
        told.log(error)
        said = ": ".join(filter(None, [type(error).__name__, str(error).strip()]))
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename == path]
    # pyspark puts the lines of a function in a worker on top of those of its caller.
    at = [f"at {path}:{one.lineno} in {one.name}" for one in frames]
    said = "\n".join(line for line in said.splitlines() if line not in at)
    lines = [f"{place}: {one.line}" for place, one in zip(at, frames, strict=True)]
    return "\n".join([said, *reversed(lines)])
