"""What the data files hold, read by pyarrow, beside what automata and Bloom filters say of them."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from support.automata import from_text, may_contain

from alluvium import marks
from alluvium.plan.automata.budget import size_in_tag
from pruned.asking import Values

# Values of a column up to which all are tried on each file.
_TRIED = 300
# In a file: of so many an index has no false positives.
FEW = 50
Held = list[dict[str, set[Any]]]


def held(folder: Path, adds: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Held:
    """Distinct values of each file, by column."""
    found = []
    for add in adds:
        read = pq.ParquetFile(folder / add["path"]).read(columns=list(columns))
        found.append({name: set(read[name].unique().to_pylist()) for name in columns})
    return found


def floors(files: Held, asked: Mapping[str, Values]) -> dict[str, Any]:
    """By column: files that hold a present value, on average and for each: no index reads fewer."""
    found = {}
    for column, of in asked.items():
        by_value = {str(one): sum(one in file[column] for file in files) for one in of.present}
        found[column] = {
            "present": statistics.fmean(by_value.values()),
            "present_by_value": by_value,
            "values_a_file": statistics.fmean(len(file[column]) for file in files),
        }
    return found


def figures(
    adds: Sequence[Mapping[str, Any]], files: Held, asked: Mapping[str, Values]
) -> dict[str, Any]:
    """Of the automata in the tags: bytes, and what they accept in vain.

    By column, over pairs of a file whose bounds hold an absent value and that value: the share
    that is accepted by automata, and by Bloom filters of as many bytes, expected. A file without an
    index accepts all. `few`: over pairs of an indexed file of at most FEW values of the column,
    and a value that is not in it.
    """
    texts = [(add.get("tags") or {}).get(marks.AUTOMATA_TAG) or "{}" for add in adds]
    read = [from_text(text) for text in texts]
    found: dict[str, Any] = {
        "bytes_a_file": statistics.fmean(len(text.encode()) for text in texts),
        "bytes_a_file_most": max(len(text.encode()) for text in texts),
        "columns": {},
    }
    for column, of in asked.items():
        absent = list(of.absent)
        others = [*of.every, *absent] if len(of.every) <= _TRIED else [*of.present, *absent]
        sizes, bloomed, accepted, pairs, few, few_files, few_wrong = [], 0.0, 0, 0, 0, 0, 0
        for add, indexes, values in zip(adds, read, files, strict=True):
            index, inside = indexes.get(column), values[column]
            size = 0 if index is None else size_in_tag(column, index)
            sizes.append(size)
            statistics_of = json.loads(add["stats"])
            low, high = (statistics_of[end].get(column) for end in ("minValues", "maxValues"))
            for value in absent:
                if low is not None and not low <= value <= high:
                    continue
                pairs += 1
                accepted += index is None or may_contain(index, value)
                bloomed += bloom(size * 8, len(inside))
            if index is not None and len(inside) <= FEW:
                few_files += 1
                for value in others:
                    if value not in inside:
                        few += 1
                        few_wrong += may_contain(index, value)
                if not all(may_contain(index, one) for one in inside if one is not None):
                    raise SystemExit(f"{add['path']}: a value of {column} is not accepted")
        found["columns"][column] = {
            "bytes_a_file": statistics.fmean(sizes),
            "indexed_share": statistics.fmean(size > 0 for size in sizes),
            "absent_pairs": pairs,
            "absent_share": accepted / pairs if pairs else 0.0,
            "absent_share_bloom": bloomed / pairs if pairs else 0.0,
            "few_files": few_files,
            "few_pairs": few,
            "few_false_positives": few_wrong,
        }
    return found


def bloom(bits: int, values: int) -> float:
    """The share of absent values that a filter of the best number of hashes accepts."""
    if not bits:
        return 1.0
    hashes = max(1, round(bits / values * math.log(2)))
    return (1 - math.exp(-hashes * values / bits)) ** hashes
