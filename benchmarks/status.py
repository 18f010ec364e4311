"""What `alluvium status` and `alluvium report` cost: the reference project here, and 200 models.

Run with `make bench-status`. Each look is a process of its own, Python's start included: seconds of
the clock, CPU seconds and peak memory, medians of ROUNDS; of a report its bytes too. The reference
project is looked at where it was built (`make run`); `--beside` says in the results that a build
ran meanwhile. The 200 models are 100 streams and 100 merged tables, with layouts. Their logs are
written by hand: 100,000 files in all, most of them in a checkpoint, 60 commits behind each.

Writes benchmarks/results/status.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from merging.home import REPOSITORY, keep, provenance
from support import delta_log
from support.delta_log import ID, add, column, commit, info, metadata, protocol, txn

RESULTS = REPOSITORY / "benchmarks" / "results" / "status.json"
ROUNDS, COMMITS, PAIRS = 5, 60, 100
REFERENCE, MANY = "reference project", "200 models"
_NONE = float("inf")
# Clock and CPU seconds, MiB, and bytes of the page.
BARS = {
    ("status", REFERENCE): (2.0, 2.0, 1024.0, _NONE),
    ("status", MANY): (20.0, _NONE, 1024.0, _NONE),
    ("report", REFERENCE): (_NONE, _NONE, _NONE, 500_000),
    ("report", MANY): (30.0, _NONE, _NONE, 3_000_000),
}
_HOUR = 3_600_000
_LOOK = "import sys; from alluvium.command.main import main; sys.exit(main(sys.argv[1:]))"


def looks(command: str, project: Path) -> list[tuple[float, float, float]]:
    """Clock and CPU seconds and MiB of each look; the first one, which compiles, is left out."""
    found = []
    for _ in range(ROUNDS + 1):
        started = time.perf_counter()
        words = [sys.executable, "-c", _LOOK, command, "--project-dir", str(project)]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        if os.waitstatus_to_exitcode(status) not in (0, 1):
            raise SystemExit("the look failed")
        unit = 2**20 if sys.platform == "darwin" else 2**10
        found.append((seconds, _cpu(used), used.ru_maxrss / unit))
    return found[1:]


def _cpu(used: resource.struct_rusage) -> float:
    return used.ru_utime + used.ru_stime


def write(folder: Path, files: int) -> None:
    """A project of 200 models with so many files; the largest table has a third of them."""
    now = int(time.time() * 1000)
    nodes = {}
    for number in range(PAIRS):
        stream, merged = f"events_{number}", f"orders_{number}"
        layout = {"bucket_by": {"column": "day", "window": "day"}, "sort_by": ["service", "at"]}
        meta = {"alluvium_merge": {}, "alluvium_layout": layout}
        nodes |= _node(stream, "streaming_table") | _node(merged, "incremental", stream, meta=meta)
        share = files // 3 if number == 0 else (files - files // 3) // (PAIRS - 1)
        _stream(_place(folder, stream), share // 5, now)
        _merged(_place(folder, merged), f"model.shop.{merged}", share - share // 5, now)
    (folder / "target").mkdir()
    manifest = {"metadata": {"project_name": "shop"}, "nodes": nodes}
    (folder / "target" / "manifest.json").write_text(json.dumps(manifest))


def _place(folder: Path, name: str) -> Path:
    return folder / ".alluvium" / "warehouse" / "shop.db" / name


def _node(name: str, kind: str, *parents: str, meta: object = None) -> dict[str, object]:
    unique_id = f"model.shop.{name}"
    return {
        unique_id: {
            "unique_id": unique_id,
            "name": name,
            "resource_type": "model",
            "package_name": "shop",
            "schema": "shop",
            "alias": name,
            "depends_on": {"nodes": [f"model.shop.{one}" for one in parents]},
            "config": {"materialized": kind, "meta": meta or {}},
        }
    }


def _stream(place: Path, files: int, now: int) -> None:
    fields = [column("_value", "string"), column("_source_timestamp", "timestamp")]
    heads = [protocol(), metadata(*fields)]
    kept = [_file(number, "_source_timestamp", now) for number in range(files - COMMITS)]
    delta_log.checkpoint(place, 0, [*heads, *kept])
    for version in range(1, COMMITS + 1):
        at = now - (COMMITS - version) * _HOUR
        note = json.dumps({"alluvium_stream": {"batch_id": version}})
        said = info("STREAMING UPDATE", at, userMetadata=note)
        said["commitInfo"]["operationMetrics"] = {"numOutputRows": "1000"}
        commit(place, version, said, _file(files + version, "_source_timestamp", at))


def _merged(place: Path, unique_id: str, files: int, now: int) -> None:
    fields = [column("day", "date"), column("service", "string"), column("at", "timestamp")]
    heads = [protocol(), metadata(*fields, by=["day"])]
    kept = [_file(number, "service", now, tagged=number % 8 > 0) for number in range(files)]
    delta_log.checkpoint(place, 0, [*heads, *kept[: files - COMMITS]])
    for version, file in enumerate(kept[files - COMMITS :], 1):
        at = now - (COMMITS - version) * _HOUR
        figures = {"rejected": 1, "deletes": 2, "key_count": 9, "events": 900 + version * 7}
        figures |= {"files_kept": version, "files_total": files}
        note = json.dumps({"alluvium_merge": figures})
        metrics = {"executionTimeMs": str(1_000 + version * 37)}
        said = info("MERGE", at, userMetadata=note, operationMetrics=metrics)
        done = txn(f"alluvium/{unique_id}/{ID}", version - 2)
        commit(place, version, said, done, file)


def _file(number: int, name: str, at: int, tagged: bool = False) -> dict[str, object]:
    day = f"2025-01-{number % 28 + 1:02}"
    value = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at / 1000))
    others = {f"column_{place}": f"a value of it, {place}" for place in range(8)}
    bounds = {name: value, **others}
    stats = {"numRecords": 1000, "minValues": bounds, "maxValues": bounds}
    stats |= {"nullCount": dict.fromkeys(bounds, 0)}
    key = f"{number:016x}" * 2
    tag = {"row_key": 'lexical["service", "at"]', "level": 1, "lo": key, "hi": f"{key}ff"}
    tag |= {"arrived": at / 1000, "tier_bytes": 1000, "locality_bytes": 1000}
    tags = {"alluvium.layout": json.dumps(tag, separators=(",", ":"))} if tagged else {}
    return add(
        f"day={day}/part-{number:05}-5a2d0f6c-0f0a-4c7b-9d0e-{number:012}.c000.snappy.parquet",
        4_000_000,
        partitionValues={"day": day},
        stats=json.dumps(stats),
        tags=tags,
    )


def measure(command: str, case: str, project: Path, beside: str | None) -> bool:
    found = looks(command, project)
    clock, cpu, memory = (statistics.median(one) for one in zip(*found, strict=True))
    page = (project / "target" / "alluvium.html").stat().st_size if command == "report" else 0
    bars = BARS[command, case]
    met = all(one <= bar for one, bar in zip((clock, cpu, memory, page), bars, strict=True))
    shown = case if beside is None else f"{case}, beside {beside}"
    print(
        f"{command}, {shown}: {clock:.2f} s, {cpu:.2f} CPU s, {memory:.0f} MiB"
        + (f", {page:,} bytes" if page else ""),
        flush=True,
    )
    result = {
        "case": shown,
        "contender": f"alluvium {command}",
        "seconds": round(clock, 3),
        "seconds_all": [round(one, 3) for one, _, _ in found],
        "cpu_seconds": round(cpu, 3),
        "peak_mib": round(memory),
        **({"page_bytes": page, "bar_page_bytes": bars[3]} if page else {}),
        **({"bar_seconds": bars[0]} if bars[0] < _NONE else {}),
        "met": met,
        **provenance(),
    }
    keep(RESULTS, [result])
    return met


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--beside", help="what runs meanwhile, for the results")
    parser.add_argument("--only", choices=(REFERENCE, MANY))
    parser.add_argument("--command", choices=("status", "report"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as name:
        places = {REFERENCE: REPOSITORY, MANY: Path(name)}
        cases = [
            (command, case)
            for command, case in BARS
            if options.only in (None, case) and options.command in (None, command)
        ]
        if any(case == MANY for _, case in cases):
            write(Path(name), options.files)
        met = [measure(*one, places[one[1]], options.beside) for one in cases]
    if not all(met):
        raise SystemExit("a bar is missed")


if __name__ == "__main__":
    main()
