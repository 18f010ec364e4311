"""Charts of results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

OURS, OTHERS, LINE = "#2b6cb0", "#a0aec0", "#c05621"


def colours(names: Sequence[str], ours: str) -> list[str]:
    """Of bars: ours are those whose names begin so."""
    return [OURS if name.startswith(ours) else OTHERS for name in names]


def panels(
    path: Path, results: Sequence[dict[str, Any]], figure: str, label: str, title: str, ours: str
) -> None:
    """Draw a panel for each case, in it a bar for each contender.

    Args:
        path: of the chart.
        results: as they are kept.
        figure: the one to draw; results without it are left out.
        label: what it is.
        title: of all.
        ours: how the names of our contenders begin.
    """
    drawn = [one for one in results if figure in one]
    cases = list(dict.fromkeys(one["case"] for one in drawn))
    if not cases:
        return
    columns = 2
    lines = -(-len(cases) // columns)
    chart, axes = plt.subplots(
        lines, columns, figsize=(11, 2.4 * lines), sharex=True, sharey=True, squeeze=False
    )
    for axis, case in zip(axes.flat, cases, strict=False):
        rows = [one for one in drawn if one["case"] == case]
        names = [one["contender"] for one in rows]
        axis.barh(names, [one[figure] for one in rows], color=colours(names, ours))
        axis.set_title(case, fontsize=10)
        axis.set_xlabel(label)
    for axis in axes.flat[len(cases) :]:
        axis.remove()
    axes[0][0].invert_yaxis()
    chart.suptitle(title, fontsize=10)
    chart.tight_layout()
    save(chart, path)


def save(chart: Any, path: Path) -> None:
    """Write a chart, without the time at which it was made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    chart.savefig(path, metadata={"Date": None})
