"""The subquery that `ref` writes of a table with tombstones, where SQL asks for a table's name.

A relation does not know where it is written. SQL does: a statement about a table has no place for
a query, and `version as of` belongs to a name. So both are settled where statements are sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.names import among

FILTER = "where not coalesce(`_deleted`, false)"
_PART = r"(?:`(?:[^`]|``)+`|[^\s`.(),;]+)"
_LIVE = rf"\(select \* from (?P<name>{_PART}(?:\.{_PART})*) {re.escape(FILTER)}\)"
PARTS = re.compile(r"`((?:[^`]|``)+)`|([^\s`.]+)")
_COMMENT = r"--[^\n]*(?:\n|$)|/\*.*?\*/"
_TEXT = r"""(?<!\w)[rR](?:'[^']*'|"[^"]*")|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_SPACE = rf"(?:\s|{_COMMENT})"
_FLAGS = re.DOTALL | re.IGNORECASE


def _words(text: str) -> str:
    """A pattern of words with anything between them that SQL takes for a blank."""
    return text.replace(" ", f"{_SPACE}+")


# What comes before the name of the table in statements about one.
_STATEMENTS = (
    r"desc(?:ribe)?(?: table)?(?: (?:extended|formatted|detail|history))?",
    r"show (?:columns|partitions) (?:in|from)",
    r"show (?:tblproperties|create table)",
    r"analyze table",
    r"refresh(?: table)?",
    r"optimize",
    r"vacuum",
    r"restore(?: table)?",
    r"alter table",
    r"(?:drop|uncache) table(?: if exists)?",
    r"truncate table",
    r"comment on table",
    r"msck repair table",
    rf"create (?:or replace )?table(?: if not exists)? {_PART}(?:\.{_PART})*"
    r" (?:like|(?:shallow |deep )?clone)",
)
_ABOUT = re.compile(rf"{_SPACE}*(?:{'|'.join(map(_words, _STATEMENTS))}){_SPACE}*", _FLAGS)
# What dbt writes around a relation under --empty and --sample, and in a microbatch.
_OPENS = "(select * from "
_CLOSES = re.compile(r" (?:limit \d+|where [^()]*)\)")
_TRAVEL = re.compile(
    _words(r"(?:for )?(?:(?P<version>(?:system_)?version)|system_time|timestamp) as of ").join(
        (f"{_SPACE}*", "")
    ),
    _FLAGS,
)
_TOKEN = re.compile(rf"{_LIVE}|{_COMMENT}|{_TEXT}|`(?:[^`]|``)*`", _FLAGS)

# An operand of the expression that says when: what is in brackets is left to `_closed`.
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)[a-z]*"
_UNIT = rf"{_SPACE}*(?:{_TEXT}|[-+]?{_NUMBER}){_SPACE}+[a-z]+(?:{_SPACE}+to{_SPACE}+[a-z]+)?"
_OPERAND = re.compile(
    rf"{_SPACE}*[-+]?{_SPACE}*(?:interval(?:{_UNIT})+"
    rf"|(?:date|timestamp(?:_ltz|_ntz)?){_SPACE}*(?:{_TEXT})"
    rf"|{_TEXT}|{_NUMBER}|{_PART}(?:\.{_PART})*(?P<call>{_SPACE}*\()?|(?P<open>\())",
    _FLAGS,
)
_OPERATOR = re.compile(rf"{_SPACE}*(?:[-+*/%](?![-*])|\|\|)", _FLAGS)
_BRACKET = re.compile(rf"{_COMMENT}|{_TEXT}|`(?:[^`]|``)*`|(?P<open>\()|(?P<close>\))", _FLAGS)


def subquery(relation: str) -> str:
    """The rows of a table that are not tombstones, as a relation in SQL.

    relation: its name, with what says the version, if it is not to be the newest.
    """
    return f"(select * from {relation} {FILTER})"


def either_way(relation: str) -> str:
    """`subquery` of what may have the column of tombstones when the statement runs, or not.

    Where it has none, the name is that of the column outside, as in any lateral subquery.
    """
    outside = "(select false as `_deleted`) as o"
    return f"(select i.* from {outside} cross join lateral {subquery(relation)} as i)"


def marks(session: SparkSession) -> Callable[[str], bool]:
    """Whether a version of a table has the column of tombstones: a table may be older than that."""

    def has_column(relation: str) -> bool:
        try:
            return among("_deleted", session.sql(f"select * from {relation}").columns)
        except (PySparkException, Py4JJavaError):
            return True  # what is wrong is told by the statement itself

    return has_column


def as_names(sql: str, has_column: Callable[[str], bool] = lambda relation: True) -> str:
    """One statement, with the table's name for its subquery where only a name can stand.

    That is in statements about the table (DESCRIBE, SHOW, OPTIMIZE, RESTORE, …), and before a
    clause of time travel. Such a clause goes to the name, into the subquery. Texts and comments
    stay as they are.

    has_column: `marks`.
    """
    if FILTER not in sql:
        return sql
    found, place = [], 0
    for token in _TOKEN.finditer(sql):
        if token["name"] is None or token.start() < place:
            continue
        start, end = _around(sql, *token.span())
        if not place and _ABOUT.fullmatch(sql, 0, start):
            return sql[:start] + token["name"] + sql[end:]
        travel = _TRAVEL.match(sql, end)
        clause = travel and _end(sql, travel)
        if travel and clause:
            then = f"{token['name']} {sql[travel.start() : clause].strip()}"
            rows = subquery(then) if has_column(then) else f"(select * from {then})"
            found += [sql[place : token.start()], rows, sql[token.end() : end]]
            place = clause
    return "".join([*found, sql[place:]])


# Words behind which a table is named; that begin what follows a list of tables; and, with signs,
# behind which `table` and a name are a query.
_BEFORE = {"from", "join"}
_SETS = {"union", "except", "minus", "intersect"}
_BEHIND = _SETS | {"where", "group", "having", "order", "sort", "cluster", "distribute", "limit"}
_BEHIND |= {"offset", "window", "qualify", "select", "set", "|>", ";"}
_QUERIES = _SETS | _BEFORE | {"", ";", "(", "as", "in", "exists", "all", "distinct", "lateral"}
_CATALOG = "spark_catalog"


class _Place:
    """Where a look through a statement is.

    Attributes:
        expects: whether a name is a table's here.
        is_query: whether a name is that of `table`, which reads all of it.
    """

    def __init__(self) -> None:
        self.expects = self.is_query = False
        self._last = ""
        # Of each open bracket: whether commas there are between tables, and what is before it.
        self._open = [(False, "")]

    def take(self, token: str) -> None:
        """Go on behind a token, in lower case."""
        lists, opener = self._open[-1]
        # Behind a name that `table` names there may be none.
        self.is_query = (
            token == "table"
            and self._last in _QUERIES
            and (self._last != "(" or opener in _QUERIES)
        )
        if token == "(":
            self._open.append((False, self._last))
        elif token == ")":
            self.expects = False
            if len(self._open) > 1:
                self._open.pop()
        elif token == ",":
            self.expects = lists
        elif token in _BEFORE and (self._last, token) != ("distinct", "from"):
            self.expects = True
            self._open[-1] = True, opener
        elif token != "lateral":
            self.expects = False
            if token in _BEHIND:
                self._open[-1] = False, opener
        self._last = token


def at_versions(sql: str, versions: Mapping[str, int]) -> tuple[str, set[str]]:
    """One statement that reads each of these tables at its version, and which of them it reads so.

    Of a table that is named in a way that is not known, and so may be read at another version, it
    is not said. A version that the statement itself names is read beside. Texts, comments and names
    that only look like a table's stay as they are.

    versions: by the table's name, as a relation renders it.
    """
    if not versions or _ABOUT.match(sql):
        return sql, set()
    tables = list(versions)
    named = "|".join(f"(?P<t{place}>{_spellings(name)})" for place, name in enumerate(tables))
    ends = rf"(?![\w`]|{_SPACE}*\.)"
    tokens = re.compile(
        rf"(?P<aside>{_COMMENT})|{_TEXT}|(?<![\w`.])(?:{named}){ends}|`(?:[^`]|``)*`"
        r"|\w+|\|>|[(),;]",
        _FLAGS,
    )
    read, otherwise = set[str](), set[str]()
    place, parts, done, table = _Place(), list[str](), 0, 0

    for found in tokens.finditer(sql):
        if found["aside"]:
            continue
        known = next((name for at, name in enumerate(tables) if found[f"t{at}"]), None)
        if known is not None and not _TRAVEL.match(sql, found.end()):
            clause = f"{found[0]} version as of {versions[known]}"
            if place.expects:
                parts += [sql[done : found.start()], clause]
                done = found.end()
            elif place.is_query:
                between = sql[table + len("table") : found.start()]
                parts += [sql[done:table], "select * from", between, clause]
                done = found.end()
            (read if done == found.end() else otherwise).add(known)
        table = found.start()
        place.take(found[0].lower())
    return "".join([*parts, sql[done:]]), read - otherwise


def _spellings(name: str) -> str:
    """A pattern of a table's name, however its parts are quoted, with its catalog or without."""
    parts = [quoted.replace("``", "`") or plain for quoted, plain in PARTS.findall(name)]
    dot = rf"{_SPACE}*\.{_SPACE}*"
    catalog = rf"(?:(?:`{_CATALOG}`|{_CATALOG}){dot})?" if len(parts) == 2 else ""
    either = (f"(?:`{re.escape(part.replace('`', '``'))}`|{re.escape(part)})" for part in parts)
    return catalog + dot.join(either)


def advice(sql: str) -> str | None:
    """What a subquery in a statement may have to do with it that SQL does not parse."""
    names = {token["name"] for token in _TOKEN.finditer(sql) if token["name"]}
    if not names:
        return None
    return (
        f"{', '.join(sorted(names))} keeps deleted rows, so `ref` of it is written as a subquery "
        "without them. Where SQL asks for a table's name, write `ref(…).render()`"
    )


def _around(sql: str, start: int, end: int) -> tuple[int, int]:
    """From where to where the subquery reaches with what dbt writes around it."""
    while sql.endswith(_OPENS, 0, start):
        closes = _CLOSES.match(sql, end)
        if not closes:
            break
        start, end = start - len(_OPENS), closes.end()
    return start, end


def _end(sql: str, travel: re.Match[str]) -> int | None:
    """Where the version or the time of a clause ends; None if it is none that is known."""
    end = travel.end()
    while True:
        operand = _OPERAND.match(sql, end)
        if not operand:
            return None
        end = operand.end()
        if operand["call"] or operand["open"]:
            closed = _closed(sql, end)
            if closed is None:
                return None
            end = closed
        operator = None if travel["version"] else _OPERATOR.match(sql, end)
        if not operator:
            return end
        end = operator.end()


def _closed(sql: str, start: int) -> int | None:
    """Where the bracket closes that opened just before `start`."""
    depth = 1
    for token in _BRACKET.finditer(sql, start):
        depth += 1 if token["open"] else -1 if token["close"] else 0
        if not depth:
            return token.end()
    return None
