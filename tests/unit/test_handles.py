"""What `scripts/count-handles` counts."""

import handles

REACHES = """
from alluvium.delta.log import log as of_log
from alluvium.delta.log.log import snapshot_of, version
from alluvium.engine import jvm

def f(session):
    version(session, "t")
    jvm.items([])
    of_log.delta_log(session, "t")
    snapshot_of(session, "t")
    return session.table("t")._jdf.queryExecution()
"""
ANNOTATED = """
def f(one: Any, *more: Any, two: list[Any], **other: str) -> Any:
    def g(inner: Any | None) -> None: ...
"""


def test_what_reaches_into_the_jvm() -> None:
    assert handles.handles(REACHES) == {"_jdf", "delta_log", "snapshot_of"}
    assert handles.handles("def f(session):\n    return session.table('t').count()\n") == set()


def test_bare_any() -> None:
    assert handles.anys(ANNOTATED) == 3


def test_what_is_left_out() -> None:
    places = {path.relative_to(handles.SRC).parts[1] for path, _ in handles.files()}
    assert places
    assert not places & {"delta", "engine"}
