"""Lines of CSV files as records, by the quotes of Spark's own parser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from alluvium.engine import jvm
from alluvium.engine.internals import CSV_OPTIONS, CSV_PARSER, PYTHON_UTILS

_RECORDS = "alluvium.CsvRecords"


def parser_options(options: Mapping[str, str]) -> dict[str, str]:
    """A feed's options for `from_csv`: only a newline ends a line, as in the files."""
    return {**options, "lineSep": "\n"}


def records(lines: DataFrame, options: Mapping[str, str], joins: bool) -> DataFrame:
    """Lines with a column `whole`: false for each part of a record that does not end in its line.

    Args:
        lines: `value` in bytes, `place`, `url`, `time`; one file to a partition, in its order.
        options: Of the feed.
        joins: Whether a record may span lines. It is one row, as its first line is, with all of its
            lines in `value`. It is not whole where its quotes do not close, or where it is beyond
            the limits `maxColumns` and `maxCharsPerColumn`.
    """
    session = lines.sparkSession
    given = _options(session, options)
    made = jvm.call_own(session, _RECORDS, "of", lines._jdf, given, joins)
    return DataFrame(made, session)


def names(session: SparkSession, header: str, options: Mapping[str, str]) -> list[str | None]:
    """The names in a header, as Spark's own parser splits it, without the blanks around them."""
    trim = {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"}
    given = _options(session, {**{k: v for k, v in options.items() if k not in trim}, **trim})
    parser = jvm.internal(session, CSV_PARSER)(given.asParserSettings())
    return list(parser.parseLine(header) or [])


def _options(session: SparkSession, options: Mapping[str, str]) -> Any:
    given = jvm.internal(session, PYTHON_UTILS).toScalaMap(parser_options(options))
    return jvm.internal(session, CSV_OPTIONS)(given, False, "UTC")
