"""The statements of a text, told apart by Spark's own lexer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from py4j.java_gateway import get_field
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from alluvium.engine import internals as spark
from alluvium.engine import jvm

_BLANK = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_FLAGS = re.DOTALL | re.IGNORECASE
_LOOKS = re.compile(rf"{_BLANK}(?:desc|describe|show|explain)\b", _FLAGS)
_QUERY = re.compile(rf"{_BLANK}(?:\(|(?:select|with|values)\b)", _FLAGS)
_END_OF_FILE = -1  # the type of the last token


def statements(session: SparkSession, sql: str) -> list[str]:
    """The statements of `sql`, which semicolons outside of texts, names and comments end.

    A script (BEGIN … END) is one statement, and the last. At least one is returned, possibly an
    empty one. A text, name or comment that does not end makes `sql` one statement. Spark says what
    is wrong with it, before any of it has run.
    """
    if ";" not in sql:
        return [sql.strip()]
    characters = jvm.internal(session, spark.CHAR_STREAMS).fromString(sql)
    grammar = jvm.internal(session, spark.SQL_LEXER)
    lexer = grammar(jvm.internal(session, spark.UPPER_CASE_STREAM)(characters))
    tokens = jvm.internal(session, spark.TOKEN_STREAM)(lexer)
    tokens.fill()
    last = tokens.size() - 1
    begin, end = grammar.BEGIN, grammar.SEMICOLON
    unknown = tokens.getTokens(0, last, grammar.UNRECOGNIZED) or ()
    if get_field(lexer, "has_unclosed_bracketed_comment") or any(
        token.getText() in "'\"`" for token in unknown
    ):
        return [sql.strip()]
    ends = [
        (token.getTokenIndex(), token.getStartIndex())
        for token in tokens.getTokens(0, last, end) or ()
    ]
    found, start, first = [], 0, 0
    for index, place in [*ends, (last, len(sql))]:
        # Comments and blanks are on a channel of their own, which this look passes over.
        tokens.seek(first)
        kind = tokens.LA(1)
        if kind == begin:
            found.append(sql[start:].strip())
            break
        if kind not in (end, _END_OF_FILE):
            found.append(sql[start:place].strip())
        start, first = place + 1, index + 1
    return found or [sql.strip()]


def limited(session: SparkSession, sql: str, limit: int | None) -> str:
    """A statement that gives at most `limit` rows of a query; what comes before it stays.

    DESCRIBE, SHOW and EXPLAIN have no limit in SQL, so they are left as they are.

    Raises:
        ValueError: the statement is neither, and would do something.
    """
    *headers, last = statements(session, sql)
    if limit is not None and not _LOOKS.match(last):
        parser = _parser(session)
        # A query that has a limit of its own cannot have a second one behind it.
        ways = (f"{last}\nlimit {limit}", f"select * from (\n{last}\n)\nlimit {limit}")
        found = [way for way in ways if _parses(parser.parseQuery, way)]
        if not found and _parses(parser.parsePlan, last):
            raise ValueError(
                "this statement is not a query, and would do something; accepted: a query, "
                "DESCRIBE, SHOW, EXPLAIN"
            )
        last = found[0] if found else last  # Spark says what is wrong with it
    return ";\n".join([*headers, last])


def is_query(sql: str) -> bool:
    """Whether a statement is a query, which Spark computes when somebody asks for its rows."""
    return bool(_QUERY.match(sql))


def only_reads(sql: str) -> bool:
    """Whether a statement is a query, or a look: it leaves the session's settings and views."""
    return is_query(sql) or bool(_LOOKS.match(sql))


def is_known(session: SparkSession, sql: str) -> bool:
    """Whether Spark, or a plug-in of the session, has a statement."""
    return _parses(_parser(session).parsePlan, sql)


def _parser(session: SparkSession) -> Any:
    return session._jsparkSession.sessionState().sqlParser()


def _parses(parse: Callable[[str], Any], sql: str) -> bool:
    try:
        parse(sql)
    except ParseException:
        return False
    return True
