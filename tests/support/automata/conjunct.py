"""One condition on one column, as a query has it between ANDs, and SQL's answer for a value."""

from dataclasses import dataclass
from typing import Any, Literal

Operator = Literal["=", "<=>", "in", "<", "<=", ">", ">=", "starts_with", "contains", "is_null"]


@dataclass(frozen=True)
class Conjunct:
    """A condition `column operator operands`, or its NOT.

    Attributes:
        operator: `starts_with` is LIKE 'x%', `contains` LIKE '%x%'; `<>` is a negated `=`.
        operands: literals, None for NULL; `in` has any number, `is_null` none, others one.
        negated: NOT stands before the condition.
    """

    operator: Operator
    operands: tuple[Any, ...] = ()
    negated: bool = False

    def holds(self, value: Any) -> bool:
        """Whether a row with the value (None for NULL) passes the condition, as SQL sees it."""
        found = self._three_valued(value)
        return found is not None and found is not self.negated

    def _three_valued(self, value: Any) -> bool | None:
        if self.operator == "is_null":
            return value is None
        if self.operator == "<=>":
            return bool(value == self.operands[0])
        if self.operator == "in":
            return _is_in(value, self.operands)
        (operand,) = self.operands
        if value is None or operand is None:
            return None
        match self.operator:
            case "=":
                return bool(value == operand)
            case "<":
                return bool(value < operand)
            case "<=":
                return bool(value <= operand)
            case ">":
                return bool(value > operand)
            case ">=":
                return bool(value >= operand)
            case "starts_with":
                return bool(value.startswith(operand))
            case "contains":
                return operand in value
        raise AssertionError(self.operator)


def _is_in(value: Any, operands: tuple[Any, ...]) -> bool | None:
    if not operands:
        return False
    if value is None:
        return None
    if value in [operand for operand in operands if operand is not None]:
        return True
    return None if None in operands else False
