"""The steps of docs/first-feed.md, run from the page: files, commands, and what they say."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from functional.runner import REPO, Project

pytestmark = pytest.mark.spark

STEPS, VARIANTS = (REPO / "docs/first-feed.md").read_text().split("\n## CSV or Kafka\n")
BLOCK = re.compile(r"^```([\w ]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
HEADER = re.compile(r"(?:#|--) ([\w/]+\.(?:yml|sql))[^\n]*\n")
# What differs from run to run: numbers, and the blanks that line up a table around them.
VARYING = re.compile(r"[\d,.]+|[ -]{2,}")
# `dbt debug` colours its words on any terminal, and where there is none.
COLOUR = re.compile(r"\x1b\[\d*m")
# By hand, from the events on the page.
ORDERS = [
    (1, 3, "2026-01-05 09:00", "shipped", "12.50"),
    (2, 2, "2026-01-05 09:10", "paid", "8.00"),
    (3, 1, "2026-01-06 14:00", "paid", "31.20"),
    (4, 1, "2026-01-07 08:30", "open", "5.75"),
]


def is_told(line: str, said: str) -> bool:
    """Whether dbt said a line of the page, whose end may be left out."""
    start = VARYING.sub("#", line.removesuffix("…").strip())
    whole = VARYING.sub("#", said.strip())
    return whole.startswith(start) if line.endswith("…") else whole == start


def written(project: Project, text: str) -> None:
    """A file of the page, by the name in its first line."""
    header = HEADER.match(text)
    assert header, text
    content = text[header.end() :].replace("<clone>", str(REPO))
    if header[1] == "profiles.yml":
        profile = yaml.safe_load(content)
        output = {"home": str(project.home), "schema": project.schema}
        profile["shop"]["outputs"]["dev"] |= output
        content = yaml.safe_dump(profile)
    project.write({header[1]: content})


def run(project: Project, script: str, fails: bool) -> list[str]:
    """The lines of a block's commands: those of dbt in this process, all others in a shell."""
    said, shell = [], ""
    for line in script.splitlines():
        if not line.startswith("dbt "):
            shell += line + "\n"
            continue
        subprocess.run(["bash", "-euc", shell], cwd=project.root, check=True)
        shell = ""
        if "<batch>" in line:
            line = line.replace("<batch>", str(batch_of(project, "3.json")))
        result = project.try_dbt(*shlex.split(line)[1:])
        told = (COLOUR.sub("", message) for message in project.lines)
        said += [one for message in told for one in message.splitlines()]
        assert result.success is not fails, "\n".join(said[-30:])
    subprocess.run(["bash", "-euc", shell], cwd=project.root, check=True)
    return said


def batch_of(project: Project, file: str) -> int:
    events = project.read("select distinct _batch_id, _source_partition from {s}.orders_events")
    return int(events[events["_source_partition"] == file]["_batch_id"].item())


def orders(project: Project, table: str) -> list[tuple[Any, ...]]:
    rows = project.read(
        "select id, version, strftime(created_at, '%Y-%m-%d %H:%M') as day, status,"
        f" cast(total as varchar) total from {{s}}.{table} order by id"
    )
    return list(rows.itertuples(index=False, name=None))


def test_the_page(home: Path, tmp_path: Path) -> None:
    project = Project(tmp_path, home, "first_feed")
    said: list[str] = []
    commands = 0
    for kind, text in BLOCK.findall(STEPS):
        if kind in ("yaml", "sql"):
            written(project, text)
        elif kind in ("bash", "bash fails"):
            said = run(project, text, fails=kind.endswith("fails"))
            commands += 1
        elif not kind:
            for line in text.splitlines():
                assert any(is_told(line, one) for one in said), f"{line}\n" + "\n".join(said)
    assert commands > 8
    assert orders(project, "orders") == ORDERS
    rejected = project.read("select reason, event from {s}.orders_wap__rejected order by event")
    assert sorted(rejected["reason"]) == ["malformed", "wrong_type: total"]
    assert ["not an order" in one for one in rejected["event"]].count(True) == 1


def test_the_source_may_be_csv(home: Path, tmp_path: Path) -> None:
    project = Project(tmp_path, home, "first_feed_csv")
    for kind, text in BLOCK.findall(STEPS):
        if kind in ("yaml", "sql"):
            written(project, text)
    source, model = (text for _, text in BLOCK.findall(VARIANTS)[:2])
    sources = yaml.safe_load((project.root / "models/sources.yml").read_text())
    sources["sources"][0]["tables"][0]["config"] |= yaml.safe_load(source)
    config = (project.root / "models/orders_wap.sql").read_text().partition("\n")[0]
    header = HEADER.match(model)
    assert header
    lines = "".join(f"{i},{at}:00Z,{total},{status},{v}\n" for i, v, at, status, total in ORDERS)
    project.write(
        {
            "models/sources.yml": yaml.safe_dump(sources),
            "models/orders_wap.sql": f"{config}\n{model[header.end() :]}",
            "landing/orders/1.csv": f"id,created_at,total,status,version\n{lines}"
            "5,2026-01-07 08:31:00Z,five,open,1\n",
        }
    )
    project.dbt("deps")
    # How a batch is tested and published does not know where it came from.
    project.dbt("run", "--select", "orders_events", "orders_wap")
    assert orders(project, "orders_wap") == ORDERS
    rejected = project.read("select event from {s}.orders_wap__rejected")
    assert "five" in rejected["event"].item()
    # Without the bounds of its events a merge would keep no progress, and read all of them again.
    without = model[header.end() :].replace(", _batch_after, _batch_through", "")
    project.write({"models/orders_wap.sql": f"{config}\n{without}"})
    assert not project.try_dbt("run", "--select", "orders_wap").success
    assert any("does not select _batch_after and _batch_through" in line for line in project.lines)
