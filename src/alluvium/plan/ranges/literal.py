"""Bounds as canonical text, and that text as typed Spark SQL literals.

The rules and why they are what they are: docs/ranges.md.
"""

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from alluvium.plan.ranges.column_type import integer_values, is_decimal, is_floating, parse_type
from alluvium.plan.ranges.errors import RangeError

_SUFFIX = {"tinyint": "Y", "smallint": "S", "int": "", "bigint": "L", "float": "F", "double": "D"}
_INTEGER = re.compile(r"-?[0-9]+")
_FLOAT = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")
_SPECIAL_FLOATS = ("nan", "inf", "-inf")
_DATE = re.compile(r"([+]?[0-9]{4,7}|-[0-9]{4,7})-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(_DATE.pattern + r" [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}")
_PLAIN_STRING = re.compile(r"[A-Za-z0-9 _.:/+@-]*")
# What stands in the log for bytes that are not UTF-8; the last character.
_NOT_UTF8, _LAST = "\ufffd", "\U0010ffff"
# From here on a double may not have all digits of a decimal.
_LONG = 10**15
# What the last digit of a float's text is worth, and the least float.
_FLOAT_DIGIT, _LEAST_FLOAT = 2**-23, 1.5e-45
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_NOT_BELOW = re.compile(rf"[{_NOT_UTF8}-{_LAST}]")


def typed_literal(value_text: str, spark_type: str) -> str:
    """The Spark SQL literal of a bound.

    Args:
        value_text: the bound in canonical text, as `canonical_texts` writes it.
        spark_type: the column's type as `DataType.simpleString()` writes it.

    Returns:
        An expression of that type; a decimal has its scale and at most its precision. Spark folds
        it to a constant whatever the session's time zone and parser settings.

    Raises:
        RangeError: the text is not canonical for the type, or ranges do not support the type.
    """
    parse_type(spark_type)
    if spark_type == "string":
        if _PLAIN_STRING.fullmatch(value_text):
            return f"'{value_text}'"
        # Hexadecimal, because an escape depends on escapedStringLiterals and ${…} is substituted.
        return f"cast(x'{_utf8(value_text).hex()}' as string)"
    if spark_type in ("float", "double") and value_text in _SPECIAL_FLOATS:
        return f"cast('{value_text}' as {spark_type})"
    if not _pattern(spark_type).fullmatch(value_text):
        raise RangeError(
            f"{value_text!r} is not a bound of type {spark_type}: accepted is text that matches "
            f"{_pattern(spark_type).pattern}"
        )
    match spark_type:
        case "date":
            return f"date'{value_text}'"
        case "timestamp":
            return f"timestamp'{value_text} UTC'"
        case "timestamp_ntz":
            return f"timestamp_ntz'{value_text}'"
        case _:
            return value_text + _SUFFIX.get(spark_type, "BD")


def told(lo: str, hi: str, spark_type: str) -> tuple[str, str] | None:
    """Bounds between which a file's statistics show a value that lies in a range.

    Statistics are not always exact. Many writers leave NaN out, or write decimals as doubles. A
    column of doubles may have been one of floats, whose statistics have fewer digits. Of texts with
    bytes that are not UTF-8 they show others, which lie elsewhere in the order.

    Args:
        lo, hi: of the range, in canonical text.
        spark_type: the column's type.

    Returns:
        Wider bounds where that matters; None where statistics exclude no file.
    """
    if hi == "nan" and spark_type in ("float", "double"):
        return None
    if spark_type == "double":
        return _farther(lo, -1), _farther(hi, 1)
    if spark_type == "float":
        # Parquet's readers have the two zeros in an order.
        return ("-0.0" if lo == "0.0" else lo), hi
    if spark_type == "string":
        cut = len(_BEYOND_ASCII.split(hi, 1)[0])
        lo = _NOT_BELOW.split(lo, 1)[0]
        return lo, hi if cut == len(hi) else hi[:cut] + _LAST * (len(hi) - cut + 1)
    if spark_type.startswith("decimal("):
        kind = parse_type(spark_type)
        return _wider(lo, -1, kind), _wider(hi, 1, kind)
    return lo, hi


def _farther(text: str, sign: int) -> str:
    """A double, as much less or more as a float may be from its text."""
    number = float(text)
    if text.endswith("inf"):
        return text
    return str(number + sign * (abs(number) * _FLOAT_DIGIT + _LEAST_FLOAT))


def _wider(text: str, sign: int, kind: pa.Decimal128Type) -> str:
    """A decimal of many digits, a little less or more."""
    number = int(text.replace(".", ""))
    margin = abs(number) // _LONG * 10
    if not margin:
        return text
    most: int = 10 ** int(kind.precision) - 1
    number = max(-most, min(most, number + sign * margin))
    scale = int(kind.scale)
    digits = str(abs(number)).rjust(scale + 1, "0")
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :]
    return "-" * (number < 0) + whole + ("." + fraction if fraction else "")


def canonical_texts(values: pa.Array) -> list[str]:
    """The canonical text of each value of an Arrow array without NULLs.

    Args:
        values: integers, floats, decimal128, date32, timestamp[us] (with a time zone: an instant,
            written in UTC) or strings.
    """
    kind = values.type
    if is_decimal(kind):
        return [f"{value:f}" for value in values.to_pylist()]
    if is_floating(kind):
        # Not the shortest text of a float32: Spark refuses that of the largest one.
        return [repr(float(value)) for value in values.to_numpy(zero_copy_only=False) + 0.0]
    if pa.types.is_string(kind):
        return list(values.to_pylist())
    render: Callable[[int], str] = str
    if pa.types.is_date32(kind):
        render = _date_text
    elif pa.types.is_timestamp(kind):
        render = _timestamp_text
    return [render(value) for value in integer_values(values).tolist()]


def _pattern(spark_type: str) -> re.Pattern[str]:
    match spark_type:
        case "tinyint" | "smallint" | "int" | "bigint":
            return _INTEGER
        case "float" | "double":
            return _FLOAT
        case "date":
            return _DATE
        case "timestamp" | "timestamp_ntz":
            return _TIMESTAMP
        case _:
            scale = parse_type(spark_type).scale
            return re.compile(rf"-?[0-9]+\.[0-9]{{{scale}}}") if scale else _INTEGER


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise RangeError(
            f"{text!r} is not a bound of type string: it is not Unicode text"
        ) from error


def _date_text(days: int) -> str:
    year, month, day = str(np.datetime64(days, "D")).rsplit("-", 2)
    # Spark reads four digits at least, and more only behind a sign.
    year = f"{int(year):05d}" if year[0] == "-" else year if len(year) == 4 else "+" + year
    return f"{year}-{month}-{day}"


def _timestamp_text(microseconds: int) -> str:
    # Split, because numpy takes the smallest timestamp for "not a time".
    days, rest = divmod(microseconds, 86_400_000_000)
    time = str(np.datetime64(rest, "us"))[len("1970-01-01T") :]
    return f"{_date_text(days)} {time}"
