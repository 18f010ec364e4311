"""Lines of Java exceptions, as py4j gives them."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from alluvium.engine.causes import (
    MENDS,
    Thrown,
    explain,
    explained,
    full_text,
    is_cancelled,
    reason,
)

WRITING = Thrown(
    "SparkException",
    "[TASK_WRITE_FAILED] Task failed while writing rows to file:/home/w%20h/t. SQLSTATE: 58030",
)


def thrown(message: str | None, cause: SimpleNamespace | None = None) -> SimpleNamespace:
    return SimpleNamespace(
        getMessage=lambda: message,
        getCause=lambda: cause,
        getClass=lambda: SimpleNamespace(getSimpleName=lambda: "Thrown"),
    )


def reading(path: str, hint: str = "NO_HINT") -> Thrown:
    text = (
        f"[FAILED_READ_FILE.{hint}] Encountered error while reading file {path}.  SQLSTATE: KD001"
    )
    return Thrown("SparkException", text)


def said(*chain: Thrown | tuple[str, str]) -> str:
    return explained([Thrown(*one) for one in chain]).text


def test_s3_without_its_jars_and_by_another_scheme() -> None:
    scheme = ("UnsupportedFileSystemException", 'No FileSystem for scheme "s3"')
    assert said(scheme) == "s3:// is not read here; accepted: s3a://, with the same path"
    missing = "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem"
    assert said(("RuntimeException", f"{missing} not found")).startswith("s3a:// needs its jars")


def test_the_deepest_cause_and_its_place() -> None:
    division = (
        "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0. "
        "SQLSTATE: 22012\n== SQL (line 16, position 3) ==\n  id / v as n\n  ^^^^^^\n"
    )
    found = explained([WRITING, Thrown("SparkArithmeticException", division)])
    assert found.text == (
        "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0."
    )
    assert (found.line, found.fragment) == (16, "id / v as n")


@pytest.mark.parametrize(
    ("message", "text", "line"),
    [
        (
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `nope` cannot be resolved. Did "
            "you mean one of the following? [`id`, `v`]. SQLSTATE: 42703; line 16 pos 2;\n"
            "'ReplaceTableAsSelect TableSpec(Map(),Some(delta)), true, false\n+- 'Project [id#1]",
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `nope` cannot be resolved. Did "
            "you mean one of the following? [`id`, `v`].",
            16,
        ),
        (
            "[TABLE_OR_VIEW_NOT_FOUND] The table or view `er`.`x` cannot be found. Verify it.\n"
            "Search path: [`system`.`builtin`].\nTo tolerate the error on drop use DROP VIEW IF "
            "EXISTS. SQLSTATE: 42P01; line 3 pos 20;\n'InsertIntoStatement\n+- LocalRelation",
            "[TABLE_OR_VIEW_NOT_FOUND] The table or view `er`.`x` cannot be found. Verify it.",
            3,
        ),
        (
            "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'. SQLSTATE: 42601 (line 3, pos "
            "8)\n\n== SQL ==\n/* {} */\n\n        selec 1\n--------^^^\n",
            "[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'.",
            3,
        ),
        (
            "[DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE] Cannot perform Merge as\n"
            "multiple source rows matched in possibly conflicting ways.\nBy SQL semantics of Merge",
            "[DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE] Cannot perform Merge as "
            "multiple source rows matched in possibly conflicting ways.",
            None,
        ),
        (
            "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint pos (id > 0) violated by row "
            "with values:\n - id : -1",
            "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint pos (id > 0) violated by row "
            "with values: - id : -1",
            None,
        ),
        (
            "[DELTA_CANNOT_WRITE_EMPTY_SCHEMA] Parts are not supported.\nReason: All are VOID.",
            "[DELTA_CANNOT_WRITE_EMPTY_SCHEMA] Parts are not supported. Reason: All are VOID.",
            None,
        ),
    ],
)
def test_plan_and_statement_are_left_out(message: str, text: str, line: int | None) -> None:
    found = explained([Thrown("AnalysisException", message)])
    assert (found.text, found.line) == (text, line)


def test_a_task_that_ran_elsewhere_quotes_its_cause() -> None:
    aborted = (
        "Job aborted due to stage failure: Task 0 in stage 4.0 failed 4 times, most recent "
        "failure: Lost task 0.3 in stage 4.0 (TID 9) (10.0.0.7 executor 1): "
        "org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing "
        "rows to s3a://b/t. SQLSTATE: 58030\n"
        "\tat org.apache.spark.sql.Errors$.taskFailed(Errors.scala:1)\n"
        "Caused by: java.lang.IllegalStateException: the codec went away\n"
        "\tat org.x.Y.z(Y.java:2)\n\t... 1 more\n\nDriver stacktrace:"
    )
    assert said(("SparkException", aborted)) == "the codec went away"


@pytest.mark.parametrize(
    "words", ["No space left on device", "File too large", "Disk quota exceeded"]
)
def test_a_full_disk_is_one_line(words: str) -> None:
    text = said(
        WRITING,
        ("ParquetCloseResourceException", "Unable to close resource"),
        ("FSError", f"java.io.IOException: {words}"),
        ("IOException", words),
    )
    assert text == f"no room to write /home/w h/t: {words}. Make room on that disk and run again"
    assert said(("IOException", words)) == f"no room: {words}. Make room on that disk and run again"


@pytest.mark.parametrize(
    ("path", "hint", "cause", "parts"),
    [
        (
            "file:///l/a.json.gz",
            "NO_HINT",
            ("EOFException", "Unexpected end of input stream"),
            ("/l/a.json.gz is cut off (Unexpected end of input stream)", "Deliver it whole"),
        ),
        (
            "s3a://b/l/a.parquet",
            "NO_HINT",
            (
                "RuntimeException",
                "s3a://b/l/a.parquet is not a Parquet file. Expected magic number",
            ),
            ("s3a://b/l/a.parquet is not a Parquet file", "Deliver it whole"),
        ),
        (
            "file:/l/a.parquet",
            "PARQUET_COLUMN_DATA_TYPE_MISMATCH",
            ("SchemaColumnConvertNotSupportedException", "column: [at], physicalType: BINARY"),
            ("/l/a.parquet cannot be read: ", "Give the source's `schema` the type"),
        ),
        (
            # As Spark names what it writes.
            "file:/l/part-00000-48c8c7b1-1cb6-456c-95bf-8c567a5eb82e-c000.snappy.parquet",
            "PARQUET_COLUMN_DATA_TYPE_MISMATCH",
            ("SchemaColumnConvertNotSupportedException", "column: [at], physicalType: BINARY"),
            (f"If it is a table's: {MENDS}", ". Else give the source's `schema` the type"),
        ),
        (
            "file:/l/a.parquet",
            "NO_HINT",
            ("ClassNotFoundException", "org.apache.hadoop.io.compress.BrotliCodec"),
            ("/l/a.parquet cannot be read: ", "with another compression, such as zstd"),
        ),
        (
            "file:/l/a.parquet",
            "NO_HINT",
            ("IOException", "can not read class org.apache.parquet.format.FileMetaData: Socket"),
            ("/l/a.parquet is broken: its footer", "take it away"),
        ),
        (
            "file:/l/a.json",
            "FILE_NOT_EXIST",
            ("FileNotFoundException", "/l/a.json (Permission denied)"),
            ("/l/a.json cannot be read: permission denied",),
        ),
        (
            "file:/l/a%20b.json",
            "FILE_NOT_EXIST",
            ("FileNotFoundException", "File file:/l/a%20b.json does not exist"),
            ("/l/a b.json is gone",),
        ),
        (
            "file:/l/a.json",
            "NO_HINT",
            ("ChecksumException", "Checksum error: file:/l/a.json at 0 exp: 1 got: 2"),
            ("/l/a.json is not what its checksum",),
        ),
        (
            "file:/w/t/_delta_log/00000000000000000001.json",
            "NO_HINT",
            (
                "JsonEOFException",
                "Unexpected end-of-input within/between Object entries\n at [Source]",
            ),
            ("_delta_log/00000000000000000001.json is broken", f"of the table /w/t: {MENDS}"),
        ),
        (
            "file:/w/t/part-00000-48c8c7b1-1cb6-456c-95bf-8c567a5eb82e-c000.snappy.parquet",
            "FILE_NOT_EXIST",
            ("FileNotFoundException", "File does not exist"),
            (f"parquet is gone. If it is a table's: {MENDS}, with the progress of merges",),
        ),
        (
            "file:/l/a.json.bz2",
            "NO_HINT",
            ("IOException", "Stream is not BZip2 formatted"),
            (
                "/l/a.json.bz2 cannot be read: Stream is not BZip2 formatted",
                ". Deliver it as the source's `format` and its name say, or take it away",
            ),
        ),
    ],
)
def test_a_broken_file_has_a_name_and_a_way_out(
    path: str, hint: str, cause: tuple[str, str], parts: tuple[str, ...]
) -> None:
    text = said(WRITING, reading(path, hint), cause)
    assert all(part in text for part in parts), text


@pytest.mark.parametrize(
    "message",
    [
        "[DELTA_TRUNCATED_TRANSACTION_LOG] /w/t/_delta_log/00000000000000000000.json: Unable to"
        " reconstruct state at version 3 as the transaction log has been truncated due to manual"
        " deletion or the log retention policy.",
        "[DELTA_VERSIONS_NOT_CONTIGUOUS] Versions (ArrayBuffer(0, 2)) are not contiguous.",
        "[DELTA_MISSING_PART_FILES] Couldn't find all part files of the checkpoint version: 4",
        "[DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH] Could not verify deletion vector integrity.",
        "File file:/w/t/deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin does not exist",
        "file:/w/t/_delta_log/00000000000000000004.checkpoint.parquet is not a Parquet file.",
    ],
)
def test_a_damaged_table_has_a_tool_that_mends_it(message: str) -> None:
    text = said(("SparkException", "Job aborted"), ("DeltaIllegalStateException", message))
    assert text.endswith(MENDS)
    assert text.count(MENDS) == 1


def test_a_table_that_is_not_there_may_be_a_models() -> None:
    text = said(("DeltaAnalysisException", "[DELTA_TABLE_NOT_FOUND] Delta table t doesn't exist."))
    assert text.endswith(f"t doesn't exist. If a model's table was there: {MENDS}")


def test_what_is_no_damage_gets_no_such_advice() -> None:
    other = "[DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION] Cannot"
    assert MENDS not in said(("DeltaIllegalStateException", f"{other} time travel."))
    # Delta's VACUUM ends so where a vector stands in the log.
    vector = "Some(DeletionVectorDescriptor(i,^Bg9^0rr91,None,34,1,None)) (of class scala.Some)"
    text = said(("SparkException", "Job aborted"), ("MatchError", vector))
    assert "VACUUM cannot read deletion vectors that stand in the table's log" in text
    assert "The next publish puts those of a published table into files" in text
    assert text.endswith("and `alluvium.recover` those of any table")


def test_a_python_function_has_its_last_words_and_its_lines() -> None:
    trace = (
        "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent "
        'call last):\n  File "models/udf.py", line 6, in halve\n    return f(x)\n'
        '  File "/v/site-packages/pandas/core/series.py", line 4719, in map\n    new_values = 1\n'
        '  File "models/udf.py", line 3, in <lambda>\n    1 / value\n    ~~^~~~\n'
        "ZeroDivisionError: division by zero\n SQLSTATE: 38000"
    )
    found = explained([WRITING, Thrown("PythonException", trace)])
    assert found.text == "ZeroDivisionError: division by zero"
    assert found.frames == ("models/udf.py:6 in halve", "models/udf.py:3 in <lambda>")


def test_little_memory() -> None:
    text = said(("SparkException", "Job aborted"), ("OutOfMemoryError", "Java heap space"))
    assert "spark.driver.memory" in text
    assert "Java heap space" in text
    text = said(("SparkException", "Job 257 cancelled because SparkContext was shut down"))
    assert "logs/spark.log. If they say OutOfMemoryError, raise `spark.driver.memory`" in text


def test_what_has_few_words_has_its_class() -> None:
    assert said(("Wrapped", "Job aborted"), ("UnknownHostException", "db1")) == (
        "UnknownHostException: db1"
    )
    assert said(("NullPointerException", "")) == "NullPointerException"
    assert said() == "it is not known why"


def test_through_py4j() -> None:
    inner = thrown(
        "[TASK_WRITE_FAILED] in task 1\nDriver stack:", thrown("[NO_X] no x. SQLSTATE: 4AB00")
    )
    error = RuntimeError("long")
    error.java_exception = inner  # type: ignore[attr-defined]
    assert explain(error).text == reason(error) == "[NO_X] no x."
    assert reason(KeyError("a")) == "KeyError: 'a'"
    assert "logs/spark.log" in explain(Py4JNetworkError("Answer from Java side is empty")).text


def test_all_of_it_goes_to_a_log() -> None:
    error = ValueError("one\ntwo")
    error._stackTrace = "at org.apache.spark.X"  # type: ignore[attr-defined]
    text = full_text(error)
    assert "one\ntwo" in text
    assert "at org.apache.spark.X" in text


def test_what_fails_after_spark_was_stopped_is_cancelled() -> None:
    stopped: Any = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None))
    assert is_cancelled(stopped, ConnectionError())


def test_a_column_without_a_type_gets_a_value() -> None:
    text = said(
        (
            "ExtendedAnalysisException",
            '[DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION] Cannot resolve "CAST(note AS VOID)" due to'
            ' data type mismatch: cannot cast "STRING" to "VOID". SQLSTATE: 42K09;\n\'Project',
        )
    )
    assert text.startswith("column note has no type in the table (VOID)")
    assert "the batch has STRING. Accepted: `on_schema_change: append_new_columns` or" in text
    schemas = (
        "Table schema:\nroot\n |-- a: void\n |-- b: void\n\nData schema:\nroot\n |-- a: void\n"
    )
    schemas += " |-- b: array (nullable = true)"
    text = said(("AnalysisException", f"[DELTA_METADATA_MISMATCH] A mismatch.\n{schemas}"))
    assert text.startswith("column b has no type in the table (VOID)")
    assert "the batch has ARRAY. Accepted: --full-refresh" in text
    text = said(("AnalysisException", 'Cannot safely cast `v` "INT" to "VOID".'))
    assert text.startswith("column v has no type in the table (VOID)")


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in"
            " driver: 3.11",
            "the executors' Python has another version",
        ),
        (
            'Cannot run program "python3.11": error=2, No such file or directory',
            "executors do not have python3.11",
        ),
        (
            "Traceback (most recent call last):\nModuleNotFoundError: No module named 'pandas'",
            "the executors' Python has no pandas",
        ),
        (
            "Traceback (most recent call last):\n  pyspark.errors: [PACKAGE_NOT_INSTALLED] PyArrow"
            " >= 18.0.0 must be installed; however, it was not found.",
            "the executors' Python has not all that is needed",
        ),
    ],
)
def test_executors_with_another_python(message: str, wrong: str) -> None:
    here = ".".join(map(str, sys.version_info[:2]))
    found = said(("PythonException", message))
    assert found.startswith(f"{wrong}. Accepted: Python {here}, as here, with numpy, pandas")


def test_a_part_of_a_package_is_not_the_package() -> None:
    trace = "Traceback (most recent call last):\nModuleNotFoundError: No module named '{}'"
    for name in ("pandas.nothing", "pandas_nothing"):
        text = said(("PythonException", trace.format(name)))
        assert text == f"ModuleNotFoundError: No module named '{name}'"
