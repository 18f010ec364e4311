"""The feed `edits`: one day of edits of Wikipedia as an append-only feed with duplicates."""

import gzip
import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path

import numpy as np

from alluvium.demo.draws import below, chance, draw
from alluvium.demo.landing import Landed, landed_files, refuse_strangers

HOUR_MS = 3_600_000
TWICE, TWICE_BY = 1, 2
_TIME = re.compile(rb'^\{"time":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z",')


@dataclass(frozen=True)
class Line:
    """One line to land; `at` is its landing time in ms since 1970 UTC."""

    at: int
    event_id: str
    duplicate: bool
    text: bytes


def read_edits() -> list[tuple[int, str, bytes]]:
    """Event time (ms since 1970 UTC), event_id and landing line of each edit, in file order.

    The data names no key. So `event_id` is the first 32 hexadecimal digits of the SHA-256 of the
    raw line, a `#`, and how many identical lines came before it.
    """
    raw = gzip.decompress((files("alluvium.demo") / "data" / "wikiticker.json.gz").read_bytes())
    seen: Counter[bytes] = Counter()
    edits = []
    for line in raw.splitlines():
        match = _TIME.match(line)
        if match is None:
            raise ValueError(f"an edit without time: {line[:80]!r}")
        at = np.datetime64(match[1].decode(), "ms").astype(np.int64)
        digest = hashlib.sha256(line + b"#%d" % seen[line]).hexdigest()[:32]
        seen[line] += 1
        edits.append((int(at), digest, b'{"event_id":"' + digest.encode() + b'",' + line[1:]))
    return edits


def edits_lines(duplicate_rate: float, seed: int) -> list[Line]:
    """All lines of the feed in landing order: each edit at its event time, duplicates later.

    A duplicate lands up to three hours after its edit: in the same file or in a later one.
    """
    edits = read_edits()
    identity = np.array([int(digest[:16], 16) for _, digest, _ in edits], np.uint64)
    twice = chance(draw(identity, seed, TWICE), duplicate_rate).tolist()
    twice_by = below(draw(identity, seed, TWICE_BY), 3 * HOUR_MS).tolist()
    lines = []
    for (at, digest, text), again, delay in zip(edits, twice, twice_by, strict=True):
        lines.append(Line(at, digest, False, text))
        if again:
            lines.append(Line(at + delay, digest, True, text))
    return sorted(lines, key=lambda line: (line.at, line.event_id, line.duplicate))


def replay_edits(
    landing: Path, hours: int | None = None, duplicate_rate: float = 0.015, seed: int = 13
) -> Landed:
    """Land the next `hours` hours (all without it) in `<landing>/edits/YYYY-MM-DD/HH.jsonl`.

    Only hours that hold a line count. The feed continues at the last file that has landed, which
    is compared and left as it is.

    Raises:
        ReplayError: a file is there with other content.
        OSError: the landing folder cannot be written.
    """
    by_hour: dict[str, list[Line]] = {}
    for line in edits_lines(duplicate_rate, seed):
        hour = str(np.datetime64(line.at, "ms").astype("datetime64[h]"))
        by_hour.setdefault(hour, []).append(line)
    names = [f"{hour[:10]}/{hour[11:]}.jsonl" for hour in by_hour]

    folder = landing / "edits"
    present = [f.relative_to(folder).as_posix() for f in landed_files(folder)]
    for day in sorted({name[:10] for name in present}):
        refuse_strangers(folder, day, {name[11:] for name in names if name[:10] == day})
    begin = names.index(present[-1]) if present else 0
    end = len(names) if hours is None else begin + hours + bool(present)

    result = Landed("edits", ended=end >= len(names))
    for name, lines in list(zip(names, by_hour.values(), strict=True))[begin:end]:
        content = b"".join(line.text + b"\n" for line in lines)
        duplicates = sum(line.duplicate for line in lines)
        if result.land(folder / name, content, len(lines) - duplicates):
            result.duplicated += duplicates
            result.add_span(_clock(lines[0].at), _clock(lines[-1].at))
    return result


def _clock(ms: int) -> str:
    return datetime.fromisoformat(str(np.datetime64(ms, "ms"))).strftime("%Y-%m-%d %H:%M:%S")
