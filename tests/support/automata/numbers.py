"""Comparisons with the intervals that an index has of a column of whole numbers."""

import datetime
import decimal
from typing import Any

from alluvium.plan.automata.numbers import Intervals

_EPOCH = datetime.date(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_DECIMAL = "decimal("
INTEGERS = ("tinyint", "smallint", "int", "bigint")
OTHERS = ("boolean", "date", "timestamp", "timestamp_ntz")


def number_of(value: Any, kind: str) -> int | None:
    """The whole number under a value of a Spark type; None where it is not surely one."""
    exact = type(value)
    if kind == "boolean":
        return int(value) if exact is bool else None
    if kind in INTEGERS:
        return int(value) if exact is int else None
    if kind == "date":
        return (value - _EPOCH).days if exact is datetime.date else None
    if kind in ("timestamp", "timestamp_ntz"):
        return _microseconds(value, kind == "timestamp") if exact is datetime.datetime else None
    if kind.startswith(_DECIMAL) and exact in (int, decimal.Decimal):
        return _unscaled(decimal.Decimal(value), int(kind[:-1].rsplit(",", 1)[1]))
    return None


def _microseconds(value: datetime.datetime, has_zone: bool) -> int | None:
    if (value.tzinfo is not None) is not has_zone:
        return None
    zone = datetime.UTC if has_zone else None
    return (value - datetime.datetime(1970, 1, 1, tzinfo=zone)) // _MICROSECOND


def _unscaled(value: decimal.Decimal, scale: int) -> int | None:
    if not value.is_finite() or value.adjusted() > 40:
        return None
    with decimal.localcontext(prec=100):
        scaled = value.scaleb(scale)
        return int(scaled) if scaled == scaled.to_integral_value() else None


def _complement(parts: list[tuple[float, float]]) -> list[tuple[float, float]]:
    found, low = [], float("-inf")
    for start, end in sorted(parts):
        if start > low:
            found.append((low, start - 1))
        low = max(low, end + 1)
    if low != float("inf"):
        found.append((low, float("inf")))
    return found


def may_pass(held: Intervals, operator: str, numbers: list[int], negated: bool) -> bool:
    """Whether any number of the intervals passes a comparison with numbers."""
    infinite = float("inf")
    first = numbers[0] if numbers else 0
    passing: dict[str, list[tuple[float, float]]] = {
        "<": [(-infinite, first - 1)],
        "<=": [(-infinite, first)],
        ">": [(first + 1, infinite)],
        ">=": [(first, infinite)],
    }
    parts = passing.get(operator, [(number, number) for number in numbers])
    if negated:
        parts = _complement(parts)
    return any(low <= end and start <= high for low, high in held for start, end in parts)
