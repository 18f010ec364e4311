"""The embedded engine: Java, versions, jars; what must be right before Spark starts."""


class EngineError(Exception):
    """The engine cannot start. The message says what is wrong, where, and what is accepted."""
