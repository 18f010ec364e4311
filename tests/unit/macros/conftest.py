"""The package's macros, rendered anew for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.rendered import Macros, Node, StopError


@pytest.fixture(scope="session")
def compiled() -> Macros:
    return Macros()


@pytest.fixture
def macros(compiled: Macros) -> Iterator[Macros]:
    """The macros; what a test changes of the context or replaces is put back."""
    context, replaced = dict(compiled.context), dict(compiled.context["alluvium"])
    compiled.warnings.clear()
    yield compiled
    compiled.context.clear()
    compiled.context.update(context)
    compiled.context["alluvium"].update(replaced)


@pytest.fixture
def stop() -> type[Exception]:
    return StopError


@pytest.fixture
def node() -> type[Node]:
    return Node


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare text with a file beside the tests; delete the file to write it anew."""
    folder = Path(__file__).parent / "golden"

    def check(name: str, text: str) -> None:
        path = folder / f"{name}.sql"
        text = text.strip() + "\n"
        if not path.exists():
            path.write_text(text)
            pytest.fail(f"{path.name} did not exist and was written: read it, then run again")
        assert text == path.read_text()

    return check
