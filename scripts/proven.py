"""Which tests prove which features on which targets, as their marks say: `proves`.

A test is marked by `@pytest.mark.proves("merge", on="thrift")`. The mark is read from the source:
a cell of the page that has no test cannot be made.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
TARGETS = {
    "embedded": "embedded",
    "disk": "cluster, shared disk",
    "s3": "cluster, S3",
    "thrift": "Thrift",
    "databricks": "Databricks: parses, compiles",
}
# As the page orders them.
FEATURES = {
    "files": "streaming tables of files",
    "Kafka": "streaming tables of Kafka topics",
    "change events": "change events",
    "merge": "merge with deletes",
    "microbatch": "microbatch",
    "Python": "Python models with pandas functions",
    "compaction": "compaction and vacuum",
    "publish": "publish with audit",
    "checkout": "checkout",
    "restore": "restore",
    "diff": "diff",
    "tags": "tags and clones",
    "branch": "branch, merged back",
    "dbt clone": "`dbt clone`",
    "pruning": "pruned reads",
    "recovery": "fsck and recover",
    "two processes": "two dbt processes on one warehouse",
    "lost executor": "an executor lost in a merge",
    "status": "`alluvium status`",
}


@dataclass(frozen=True)
class Proof:
    """A test that proves a feature on a target.

    Attributes:
        path: of its file, from the repository.
        is_slow: whether `make test-full` alone runs it.
    """

    feature: str
    target: str
    path: str
    is_slow: bool


def proofs(tests: Path = REPO / "tests") -> Iterator[Proof]:
    """What the tests of a folder are marked with.

    Raises:
        ValueError: a mark names a feature or a target that the page does not have.
    """
    for path in sorted(tests.rglob("test_*.py")):
        tree = ast.parse(path.read_text())
        of_file = [
            mark
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
            for mark in ast.walk(node.value)
        ]
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef):
                continue
            marks = [one for given in node.decorator_list for one in ast.walk(given)]
            is_slow = any(
                ast.unparse(one) == "pytest.mark.slow" for one in (*of_file, *node.decorator_list)
            )
            for mark in marks:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.proves":
                    features = [ast.literal_eval(one) for one in mark.args]
                    target = ast.literal_eval(mark.keywords[0].value)
                    for feature in features:
                        if feature not in FEATURES or target not in TARGETS:
                            raise ValueError(
                                f"{path}: proves {feature!r} on {target!r}; accepted:"
                                f" {', '.join(FEATURES)} on {', '.join(TARGETS)}"
                            )
                        yield Proof(feature, target, str(path.relative_to(REPO)), is_slow)


def page(made: str) -> str:
    """The page of docs; made: the line that says what writes it."""
    found: dict[tuple[str, str], list[Proof]] = defaultdict(list)
    for one in proofs():
        found[one.feature, one.target].append(one)
    head = f"| | {' | '.join(TARGETS.values())} |\n|---|{'---|' * len(TARGETS)}\n"
    rows = "".join(
        f"| {shown} | {' | '.join(_cell(found[name, target]) for target in TARGETS)} |\n"
        for name, shown in FEATURES.items()
    )
    return (
        f"{made}\n# What was tested where\n\n"
        "Each cell names the test that proves a feature on a kind of target. An empty cell has no"
        " test:\nthe feature may work there, and nobody looked. *Nightly* tests run by"
        " `make test-full`, others in each\n`make test`. YARN and Kubernetes have settings of"
        " their own ([clusters](../clusters.md)), and were not run.\n\n"
        f"{head}{rows}"
    )


def _cell(proven: list[Proof]) -> str:
    if not proven:
        return ""
    # A test of each change says more than a nightly one.
    one = min(proven, key=lambda proof: proof.is_slow)
    name = one.path.rpartition("/")[2].removesuffix(".py")
    return f"[{name}](../../{one.path})" + (", nightly" if one.is_slow else "")
