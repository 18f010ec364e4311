"""The repository's own dbt project, copied, and fed with landing files batch by batch."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from functional.runner import REPO, Project
from oracle.flights import Merged, assert_same, parse

METHODS = ("none", "min_max", "gaps", "kmeans", "cover", "auto")
# What the setting `engine` accepts, and what then runs a merge of the reference project.
ENGINES = {"auto": "one_commit", "merge_into": "merge_into"}
# What one batch needs. dbt takes `flights` for the folder as well, which adds `flights_parsed`.
FEED = ("flights_events", "flights_batch", "flights_ranges", "flights", "flights_rejected")
PARTS = (
    "dbt_project.yml", "macros", "models", "profiles", "python_models", "seeds", "tests/data_tests",
)  # fmt: skip


def copy_repository(root: Path) -> None:
    """The files of the reference project and nothing that dbt or a person left beside them."""
    for part in PARTS:
        source, target = REPO / part, root / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)


def groups(files: Sequence[Path], number: int, seed: int) -> list[list[Path]]:
    """`files` in their order, cut into `number` groups of random size, none empty."""
    cuts = sorted(random.Random(seed).sample(range(1, len(files)), number - 1))
    return [list(files[a:b]) for a, b in zip([0, *cuts], [*cuts, len(files)], strict=True)]


@dataclass
class Reference(Project):
    """The copy at `root`; `landed` are the files of the feed that it can see."""

    landed: list[Path] = field(default_factory=list)

    @property
    def landing(self) -> Path:
        return self.root / ".alluvium/landing/flights"

    def profile(self, **settings: Any) -> None:
        """The target `embedded` of the repository's profile, on the home of this test run."""
        profiles = yaml.safe_load((self.root / "profiles/profiles.yml").read_text())
        embedded = profiles["alluvium"]["outputs"]["embedded"]
        embedded |= {"home": str(self.home), "schema": self.schema} | settings
        self.write({"profiles.yml": yaml.safe_dump(profiles)})

    def plan_by(self, method: str, delete: str | None = None, engine: str = "auto") -> None:
        """Set the range method, how the merge deletes and what runs it, where a user would."""
        merge = self.root / "models/flights/_flights.yml"
        # The others have no number of ranges, or find it themselves.
        count = "" if method in ("auto", "min_max", "none") else "            k: 3\n"
        text, found = re.subn(
            r"(            method: )\w+\n(            k: 3\n)?",
            rf"\g<1>{method}\n{count}",
            merge.read_text(),
        )
        assert found == 1
        text = re.sub(r"          (delete|engine): \w+\n", "", text)
        if delete == "hard":
            # It keeps no tombstones that could have a time.
            text = re.sub(r"          tombstone_time: .+\n", "", text)
        when = "          delete_when: op = 'd'\n"
        assert when in text
        settings = f"          engine: {engine}\n"
        if delete is not None:
            settings += f"          delete: {delete}\n"
        text = text.replace(when, when + settings)
        merge.write_text(text)

    def land(self, files: Sequence[Path]) -> None:
        """Let the feed's source see `files`, which lie below some folder `flights`."""
        for file in files:
            name = file.relative_to(next(p for p in file.parents if p.name == "flights"))
            (self.landing / name).parent.mkdir(parents=True, exist_ok=True)
            (self.landing / name).hardlink_to(file)
            self.landed.append(self.landing / name)

    def run(self, *args: str) -> None:
        self.dbt("run", "--quiet", "--select", *FEED, *args)

    def table(self, name: str) -> pd.DataFrame:
        return self.read(f"select * from {{s}}.{name}")

    def check(self, expected: Merged, rows: pd.DataFrame | None = None) -> None:
        """The merged table, or `rows` of it, holds the live rows and tombstones of the oracle."""
        rows = self.table("flights") if rows is None else rows
        deleted = rows["_deleted"].eq(True) if "_deleted" in rows else pd.Series(False, rows.index)
        assert_same(expected.live, rows[~deleted])
        assert_same(expected.tombstones, rows[deleted])

    def check_lines(self) -> None:
        """Every landed line is in bronze once, and rejected where it must be, with its reason."""
        where = ["_source_partition", "_source_offset"]
        lines = [
            (file.relative_to(self.landing).as_posix(), number, line)
            for file in self.landed
            for number, line in enumerate(file.read_text().splitlines())
        ]
        expected = pd.DataFrame(lines, columns=[*where, "_value"])
        _assert_same_lines(self.table("flights_events"), expected)
        _, rejected = parse(self.landed)
        names = [Path(f).relative_to(self.landing).as_posix() for f in rejected["_file"]]
        expected = pd.DataFrame(
            {
                "_source_partition": names,
                "_source_offset": rejected["_line"],
                "reject_reason": rejected["reason"],
                "_value": rejected["value"],
            }
        )
        _assert_same_lines(self.table("flights_rejected"), expected)


def _assert_same_lines(actual: pd.DataFrame, expected: pd.DataFrame) -> None:
    where = ["_source_partition", "_source_offset"]
    one, other = (
        frame[list(expected.columns)]
        .sort_values(where, ignore_index=True)
        .astype({"_source_offset": "int64"})
        for frame in (actual, expected)
    )
    pd.testing.assert_frame_equal(one, other)


def given_seed(test: str) -> int:
    """A new seed, or the one to repeat a failure with."""
    seed = int(os.environ.get("ALLUVIUM_TEST_SEED", random.randrange(1 << 32)))
    print(f"again: ALLUVIUM_TEST_SEED={seed} pytest {test}")
    return seed
