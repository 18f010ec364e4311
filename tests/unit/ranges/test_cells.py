"""Cells tell of a table's files what all values of the batch tell, whatever the parts."""

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyspark import cloudpickle
from support.drawn import examples
from unit.ranges.columns import TYPES, key
from unit.ranges.files import VALUES, File, beside, fragments
from unit.ranges.files import table as files_near

from alluvium.merge import range_frame
from alluvium.plan.ranges.cells import Cells
from alluvium.ranges import Ranges, Request, cover_runs, plan

NAMES = st.sampled_from(sorted(TYPES))
PARTS = {name: st.lists(values, min_size=1, max_size=3) for name, values in VALUES.items()}


@st.composite
def cases(draw: st.DrawFn) -> tuple[pa.DataType, list[list[Any]], list[File]]:
    name = draw(NAMES)
    if draw(st.booleans()):
        values, files = beside(draw, name)
        return TYPES[name][0], [values[::2], values[1::2]], files
    parts = draw(PARTS[name])
    every = [value for part in parts for value in part]
    return TYPES[name][0], parts, files_near(draw, name, every, 6)


def together(kind: pa.DataType, tables: list[pa.Table]) -> Ranges:
    """As Spark puts the parts together: smallest, largest and rows of each cell."""
    rows = [row for table in tables for row in table.to_pylist()]
    numbers = sorted({row["cell"] for row in rows})
    of = [[row for row in rows if row["cell"] == number] for number in numbers]
    return Ranges(
        pa.array([min((r["lo"] for r in one), key=key) for one in of], kind, from_pandas=False),
        pa.array([max((r["hi"] for r in one), key=key) for one in of], kind, from_pandas=False),
        np.array([sum(r["row_count"] for r in one) for one in of], dtype=np.int64),
    )


@given(case=cases(), k=st.integers(1, 5), or_null=st.booleans())
@examples(100)
def test_cells_are_as_good_as_all_values(case: Any, k: int, or_null: bool) -> None:
    kind, parts, table = case
    described = fragments(kind, table)
    cells = Cells.of(described)
    assert len(cells.bounds) <= 2 * len(table)
    arrays = [pa.array(part, kind, from_pandas=False) for part in parts]
    assert all(cells.split(array).num_rows <= len(cells.bounds) + 1 for array in arrays)
    runs = together(kind, [cells.split(array) for array in arrays])
    found = cover_runs(runs, Request("cover", k, fragments=described, or_null=or_null))
    exact = plan(
        pa.chunked_array(arrays), Request("cover", k, fragments=described, or_null=or_null)
    )
    assert found.kept == exact.kept
    assert [found.ranges.row_count.tolist(), *map(keys, (found.ranges.lo, found.ranges.hi))] == [
        exact.ranges.row_count.tolist(), *map(keys, (exact.ranges.lo, exact.ranges.hi)),
    ]  # fmt: skip


def keys(values: pa.Array) -> list[Any]:
    return [key(value) for value in values.to_pylist()]


ELSEWHERE = """
import sys
sys.modules["alluvium"] = None
import pickle
import pyarrow as pa
split = pickle.loads(sys.stdin.buffer.read())
print(split(pa.array([5, 1, 12, None])).to_pylist())
"""


def test_a_process_without_this_package_splits_too() -> None:
    """Executors have none of it: what they run brings its own code."""
    bounds = [File((lo, hi), 1, lo, hi) for lo, hi in ((0, 10), (11, 20))]
    cells = Cells.of(fragments(pa.int64(), bounds))
    assert range_frame.SCHEMA  # importing it is what registers the package
    sent = cloudpickle.dumps(cells.split)
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], input=sent, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().strip() == str(cells.split(pa.array([5, 1, 12])).to_pylist())
