"""Names in SQL."""


def quoted(name: str) -> str:
    """A name as an identifier, whatever it holds."""
    return f"`{name.replace('`', '``')}`"
