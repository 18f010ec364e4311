"""Let two processes commit at once, and count: ``python race.py --store CLASS --rows 200``.

With Delta's own ``io.delta.storage.HDFSLogStore`` commits get lost; with ours none may. A fast
disk shows that in one commit of some hundreds; ``--slow 20`` makes it take 20 ms to name a file,
which shows it in some tens. From the first loss on Spark may refuse the table altogether.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import deltalake
import pyarrow as pa
from functional.runner import add_jars

from alluvium.engine import log_store

RACER = Path(__file__).with_name("racer.py")


@dataclass(frozen=True)
class Result:
    """What went wrong in a race. All figures are 0 where commits are exclusive.

    twice: names that both processes were told are theirs; nobodys: names that neither was.
    replaced: names that hold the commit of the one who was told to have lost.
    lost, doubled: rows whose append succeeded and that the table has not, or has twice.
    """

    twice: int
    nobodys: int
    replaced: int
    lost: int
    doubled: int


def race(root: Path, store: str, names: int, rows: int, slow: int = 0) -> Result:
    """Race two processes with the log store `store`, in the empty folder `root`.

    slow: milliseconds that the system calls `rename` and `link` take longer; needs strace.
    """
    tracer = []
    if slow:
        tracer = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null"]
        tracer += ["-e", "trace=rename,link", "-e", f"inject=rename,link:delay_enter={1000 * slow}"]
    folder, table = root / "names", root / "table"
    folder.mkdir()
    schema = pa.schema([("who", pa.string()), ("number", pa.int64())])
    deltalake.write_deltalake(str(table), schema.empty_table())
    racers = {}
    for me in "ab":
        task = {
            "me": me,
            "home": str(add_jars(root / me)),
            "store": store,
            "theirs": store != log_store.CLASS,
            "folder": str(folder),
            "names": names,
            "table": str(table),
            "rows": rows,
        }
        with (root / f"{me}.log").open("w") as log:
            racers[me] = subprocess.Popen(
                [*tracer, sys.executable, str(RACER), json.dumps(task)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
    try:
        for racer in racers.values():
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n", _said(root)
        start = f"{time.monotonic() + 1}\n"
        for racer in racers.values():
            assert racer.stdin is not None
            racer.stdin.write(start)
            racer.stdin.flush()
        told = {}
        for me, racer in racers.items():
            out, _ = racer.communicate(timeout=900)
            assert racer.returncode == 0, _said(root)
            told[me] = json.loads(out.splitlines()[-1])
    finally:
        for racer in racers.values():
            racer.kill()
            racer.wait()
    a, b = set(told["a"]["names"]), set(told["b"]["names"])
    said = {**dict.fromkeys(a - b, "a\n"), **dict.fromkeys(b - a, "b\n")}
    found = Counter(
        (row["who"], row["number"])
        for row in deltalake.DeltaTable(str(table)).to_pyarrow_table().to_pylist()
    )
    wanted = {(me, number) for me in "ab" for number in told[me]["rows"]}
    return Result(
        twice=len(a & b),
        nobodys=names - len(a | b),
        replaced=sum((folder / name).read_text() != text for name, text in said.items()),
        lost=len(wanted - set(found)),
        doubled=sum(count - 1 for count in found.values()) + len(set(found) - wanted),
    )


def _said(root: Path) -> str:
    return "\n".join((root / f"{me}.log").read_text()[-1500:] for me in "ab")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", default=log_store.CLASS)
    parser.add_argument("--names", type=int, default=0)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--slow", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        print(asked, race(Path(root), asked.store, asked.names, asked.rows, asked.slow))


if __name__ == "__main__":
    main()
