"""The errors of range planning."""


class RangeError(ValueError):
    """A request or a value that ranges cannot be planned for; the message says what is accepted."""


class UnfitError(RangeError):
    """A column whose values no range can say: of its type, or because one of them is not UTF-8."""
