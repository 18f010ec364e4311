"""The one error of range planning."""


class RangeError(ValueError):
    """A request or a value that ranges cannot be planned for; the message says what is accepted."""
