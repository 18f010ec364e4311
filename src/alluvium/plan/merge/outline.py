"""What is known of a merge before its batch is read, as the macro `_merge_outline` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RangeSettings:
    """`meta.alluvium_merge.ranges` with its defaults."""

    column: str
    columns: Sequence[str]
    method: str
    k: int
    max_ranges: int
    engine: str
    model: str | None


@dataclass(frozen=True)
class MergeSettings:
    """`meta.alluvium_merge` with its defaults: docs/merge.md says what each means.

    stored_order: of columns of the order that the table stores otherwise than the batch has them,
        what it stores.
    soft: whether a delete leaves a tombstone.
    notes_time: whether the merge notes when it made one, in a column of its own.
    verify: True, or `reject`, to look for keys of the batch in the files that are left unread.
    prunes: whether bounds of the key may leave files unread.
    immutable: columns whose value never changes for a key.
    ranges: None where none are wanted, or several columns have them.
    """

    unique_key: Sequence[str]
    order_by: Sequence[str]
    stored_order: Mapping[str, Mapping[str, Any]]
    delete_when: str | None
    on_match: str
    null_keys: str
    reject_by: str | None
    keep_by: str | None
    engine: str
    verify: bool | str
    tombstone_time: str | None
    soft: bool
    notes_time: bool
    prunes: bool
    immutable: Sequence[str]
    ranges: RangeSettings | None

    @staticmethod
    def read(found: Mapping[str, Any]) -> MergeSettings:
        ranges = found["ranges"]
        return MergeSettings(**{**found, "ranges": ranges and RangeSettings(**ranges)})


@dataclass(frozen=True)
class Outline:
    """Settings and columns of one try of a merge.

    Attributes:
        types, source_types: Types of the table's and of the batch's columns by lower-case name.
        stored: Names of the table's columns.
        selected: Names of the batch's columns, less those that only steer its merge.
        controls: Those, where the batch has them.
        stored_keys: SQL of keys that the table stores otherwise than the batch has them.
        box: Key columns, in lower case, whose bounds narrow the target.
        added: Columns for tombstones that the table does not have yet, as SQL; None for none.
        several: Whether ranges are wanted on several columns.
        request: What the library is asked to plan; None where no ranges are wanted.
        range_rows: SQL that reads the rows of the model that plans the ranges; None without one.
        mistakes: Why the batch cannot be merged; where there are some, the rest is left out.
        warnings: What was left out.
    """

    settings: MergeSettings
    types: Mapping[str, str] = field(default_factory=dict)
    source_types: Mapping[str, str] = field(default_factory=dict)
    stored: Sequence[str] = ()
    selected: Sequence[str] = ()
    controls: Sequence[str] = ()
    stored_keys: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    box: Sequence[str] = ()
    added: str | None = None
    several: bool = False
    request: Mapping[str, Any] | None = None
    range_rows: str | None = None
    mistakes: Sequence[str] = ()
    warnings: Sequence[str] = ()

    @staticmethod
    def read(found: Mapping[str, Any]) -> Outline:
        return Outline(**{**found, "settings": MergeSettings.read(found["settings"])})
