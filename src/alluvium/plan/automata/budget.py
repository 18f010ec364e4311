"""Which indexes a commit puts into the log, whose bytes every reader of the table pays for.

Each commit holds the budget for its own files. So the table holds it, whoever else writes to it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from alluvium.plan.automata.index import Index
from alluvium.plan.automata.tags import to_text

# Bytes that a column's index may have in a file: at most, and on average over a commit's files.
MOST_BYTES = 1024
AVERAGE_BYTES = 256
# Bytes of all indexes for each byte that a checkpoint has of the files without them.
LOG_SHARE = 0.25
# Up to so many values of a column in a file its index may have all of these bytes. So it is exact
# as a rule. One of more values is trimmed, and has no more than the average.
FEW_VALUES = 50
# Indexes of more values that each column gets before they are judged, and the share of absent
# values that they may accept then.
_TRIED = 8
_WORTH = 0.5
# What a checkpoint makes of such texts: at best a byte of so many.
_SQUEEZED = 2.5
# Characters up to which Delta's statistics have a text whole.
_SHOWN = 32


def bytes_for(column: str, values: int) -> int:
    """Bytes that the index of a column of so many values may have in a file."""
    most = MOST_BYTES if values <= FEW_VALUES else AVERAGE_BYTES
    return most - len(json.dumps({column: 0}, ensure_ascii=False).encode())


def compressed(texts: Iterable[str]) -> int:
    """Bytes that the texts, one after another, take in a checkpoint."""
    return len(pa.Codec("snappy").compress("\n".join(texts).encode()))


def within(
    found: Sequence[Mapping[str, Index]], columns: int, log_bytes: float
) -> list[dict[str, Index]]:
    """Of the indexes of each file, by column, those that the budget holds.

    Those are left out first that exclude least; of two that exclude as much, the longer one.

    Args:
        found: indexes of a file each.
        columns: that the table wants indexes of.
        log_bytes: of the files without indexes, as `compressed` counts them.
    """
    texts = [to_text(indexes) for indexes in found if indexes]
    written = sum(len(text.encode()) for text in texts)
    room = min(
        AVERAGE_BYTES * columns * len(found),
        # A checkpoint is compressed; the average is not, for a commit has it as it is.
        LOG_SHARE * log_bytes * written / max(1, compressed(texts)),
    )
    sizes = {
        (file, column): size_in_tag(column, index)
        for file, indexes in enumerate(found)
        for column, index in indexes.items()
    }
    # Names decide between equals, so that equal files have equal tags.
    order = sorted(sizes, key=lambda one: (found[one[0]][one[1]].loss, sizes[one], one[1], one[0]))
    kept: list[dict[str, Index]] = [{} for _ in found]
    for file, column in order:
        size = sizes[file, column]
        if size > MOST_BYTES:
            continue
        room -= size
        if room < 0:
            break
        kept[file][column] = found[file][column]
    # As they were found: the order of a tag's columns is the table's.
    return [
        {column: index for column, index in indexes.items() if column in chosen}
        for indexes, chosen in zip(found, kept, strict=True)
    ]


@dataclass
class _Made:
    number: int = 0
    loss: float = 0.0

    @property
    def mean(self) -> float:
        return self.loss / max(1, self.number)


@dataclass
class Effort:
    """Which indexes of many values are made: a trim takes long, and the log has room for few.

    Each column gets some. More are made only if these exclude half of the absent values, and while
    the log may have room for them. The files of a commit share the room alike.
    """

    _made: dict[str, _Made] = field(default_factory=dict)
    _share: float = 0.0
    _room: float = 0.0

    def begin(self, files: int, log_bytes: float) -> None:
        """So many files come, whose actions have so many bytes in a checkpoint."""
        self._share = _SQUEEZED * LOG_SHARE * log_bytes / max(1, files)
        self._room = 0.0

    def next_file(self, columns: Iterable[str]) -> list[str]:
        """Those columns of the next file, of many values each, by what their indexes exclude."""
        self._room += self._share
        # Stable, so that equal files have equal tags.
        return sorted(columns, key=lambda one: self._made.get(one, _Made()).mean)

    def pays(self, column: str) -> bool:
        """Whether one more is made."""
        made = self._made.get(column, _Made())
        return made.number < _TRIED or (made.mean <= _WORTH and self._room > 0)

    def note(self, column: str, index: Index | None) -> None:
        """One was made; None where the bytes were too few to exclude anything."""
        made = self._made.setdefault(column, _Made())
        made.number += 1
        made.loss += 1.0 if index is None else index.loss
        self._room -= 0 if index is None else size_in_tag(column, index)


def size_in_tag(column: str, index: Index) -> int:
    """Bytes that the index takes in the tag of its file, as UTF-8: name, marks and all."""
    return len(to_text({column: index}).encode()) - 1


def says_more(index: Index, low: object, high: object) -> bool:
    """Whether an index excludes more than the minimum and maximum that the log has of a column.

    Args:
        low, high: as the statistics have them; None where they do not.
    """
    if index.type == "boolean":
        return len(index.held) != 1 or index.held[0] != (0, 1)  # the log has no bounds of them
    if low is None or high is None:
        return True
    if index.text is None:
        return len(index.held) != 1
    return not (low == high and isinstance(low, str) and len(low) < _SHOWN)
