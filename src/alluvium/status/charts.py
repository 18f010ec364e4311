"""Small charts of the last batches as paths of SVG: a bar each, the newest one on the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alluvium.plan.status.figures import SHOWN, Batch
from alluvium.wording import counted, span

# Pixels: of a chart, of its bars upwards and downwards, and between two bars.
WIDTH, UP, DOWN, GAP = 240, 30, 14, 1
# Of fewer batches bars do not grow wider.
_LEAST = 30


@dataclass(frozen=True)
class Chart:
    """A chart of batches.

    Attributes:
        said: what it shows, for those who do not see it.
        first, second: paths of its two series; `bar` is the width of their strokes.
        newest: the last batch, in two parts.
        caption: what is told of the others, in two parts.
    """

    said: str
    bar: float
    first: str
    second: str
    newest: tuple[str, str]
    caption: tuple[str, str]


def events(batches: Sequence[Batch]) -> Chart | None:
    """Events of each batch upwards, and its seconds downwards; None without a batch."""
    if not batches:
        return None
    counts, seconds = [one.events for one in batches], [one.seconds for one in batches]
    took = "" if seconds[-1] is None else f"in {seconds[-1]:,.1f} s"
    newest = (counted(counts[-1], "event"), took)
    known = [one for one in seconds if one is not None]
    most = f"most {max(counts):,}" + (f", {max(known):,.1f} s" if known else "")
    caption = (_many(batches), most if len(batches) > 1 else "")
    return Chart(
        said=_said("batch", newest, caption),
        bar=_step(len(batches)) - GAP,
        first=_bars(counts, max(counts), UP, upwards=True),
        second=_bars(seconds, max(known, default=0.0), DOWN, upwards=False),
        newest=newest,
        caption=caption,
    )


def files(batches: Sequence[Batch]) -> Chart | None:
    """Files that each merge read before all files of the table; None without a merge of ours."""
    merges = [one for one in batches if one.files_total]
    if not merges:
        return None
    kept = [one.files_kept or 0 for one in merges]
    total = [one.files_total or 0 for one in merges]
    newest = (f"{kept[-1]:,} of {total[-1]:,}", "files read")
    caption = (counted(len(merges), "merge"), f"{100 * sum(kept) / sum(total):.1f} % read")
    return Chart(
        said=_said("merge", newest, caption),
        bar=_step(len(merges)) - GAP,
        first=_bars(total, max(total), UP + DOWN, upwards=True),
        second=_bars(kept, max(total), UP + DOWN, upwards=True),
        newest=newest,
        caption=caption,
    )


def _said(what: str, newest: tuple[str, str], caption: tuple[str, str]) -> str:
    return f"The last {what}: {' '.join(filter(None, newest))}; {', '.join(filter(None, caption))}"


def _many(batches: Sequence[Batch]) -> str:
    """How many batches, and in which time they came."""
    first, last = batches[0].at, batches[-1].at
    if len(batches) == 1 or first is None or last is None:
        return f"{len(batches)} in the log"
    return f"{len(batches)} in {span((last - first).total_seconds())}"


def _step(bars: int) -> float:
    return WIDTH / min(max(bars, _LEAST), SHOWN)


def _bars(values: Sequence[float | None], most: float, height: int, *, upwards: bool) -> str:
    """Lines from the baseline at 0: a value above 0 is seen, however small."""
    step, drawn = _step(len(values)), []
    for place, value in enumerate(reversed(values)):
        if value and most:
            length = max(round(value / most * height, 1), 1)
            x = round(WIDTH - (place + 0.5) * step, 1)
            drawn.append(f"M{x:g} 0v{-length if upwards else length:g}")
    return "".join(drawn)
