"""The columns of two versions: which are the same, and how their values are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegralType,
    LongType,
    MapType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    VariantType,
)

from alluvium.engine.data_types import holds
from alluvium.engine.row_json import IN_FULL
from alluvium.names import bare, quoted
from alluvium.plan.versions.properties import PHYSICAL

_ID = "delta.columnMapping.id"
_INTEGERS = DecimalType(19, 0)
_MOST_DIGITS = 38


@dataclass(frozen=True)
class Pair:
    """A column of the later version, and the earlier one's; None where it has no such column."""

    after: StructField
    before: StructField | None


class Columns:
    """The columns of two versions.

    Args:
        before, after: their schemas.
        largest_id: the largest that a column of `before` ever had; None where they have none.

    Attributes:
        pairs: each column of `after`.
        added, removed: names of the columns that only one version has.
        in_shared_files: whether a file that both have may hold values of a column that only one of
            them shows, or that is another one now.
    """

    def __init__(self, before: StructType, after: StructType, largest_id: int | None) -> None:
        self.in_shared_files = False
        self._largest = largest_id
        self.pairs = self._paired(before, after)
        self.added = [pair.after.name for pair in self.pairs if pair.before is None]
        known = {pair.before.name for pair in self.pairs if pair.before is not None}
        self.removed = [name for name in before.names if name not in known]
        self._kinds = {pair.after.name: self._common(pair) for pair in self.pairs}

    def of_key(self, key: Sequence[str]) -> list[str]:
        """The key's columns as `after` spells them.

        Raises ValueError for one that is not in both."""
        both = {pair.after.name.lower(): pair.after.name for pair in self.pairs if pair.before}
        names = [bare(name).lower() for name in key]
        if missing := [name for name in names if name not in both]:
            raise ValueError(
                f"key: {', '.join(missing)} is not in both versions; accepted:"
                f" {', '.join(both.values())}"
            )
        return [both[name] for name in names]

    def values(self, name: str, is_after: bool, within: str | None = None) -> Column:
        """The values of a column of `after` in one of the versions, in a type that both share.

        within: a column of structs that has them.
        """
        pair = next(one for one in self.pairs if one.after.name == name)
        kind = self._kinds[name]
        field = pair.after if is_after else pair.before
        if field is None:
            return F.lit(None).cast(kind)
        own = F.col(quoted(field.name)) if within is None else F.col(within)[field.name]
        return _aligned(own, field.dataType, kind, pair.after.dataType)

    def comparable(self, name: str, is_after: bool, within: str | None = None) -> Column:
        """`values`, of which two are equal only where they are the same."""
        return in_order(self.values(name, is_after, within), self._kinds[name])

    def _paired(self, before: StructType, after: StructType) -> list[Pair]:
        pairs = _pairs(before, after)
        for field, other in ((pair.after, pair.before) for pair in pairs):
            if other is not None:
                names = [one.metadata.get(PHYSICAL) for one in (field, other)]
                self.in_shared_files |= None not in names and names[0] != names[1]
            elif self._largest is not None:
                # An older column than the newest of `before` may be one that it dropped.
                self.in_shared_files |= field.metadata.get(_ID, 0) <= self._largest
        return pairs

    def _common(self, pair: Pair) -> DataType:
        if pair.before is None:
            return pair.after.dataType
        return self._merged(pair.before.dataType, pair.after.dataType)

    def _merged(self, old: DataType, new: DataType) -> DataType:
        if old == new:
            return new
        if isinstance(old, StructType) and isinstance(new, StructType):
            pairs = self._paired(old, new)
            return StructType([StructField(one.after.name, self._common(one)) for one in pairs])
        if isinstance(old, ArrayType) and isinstance(new, ArrayType):
            return ArrayType(self._merged(old.elementType, new.elementType))
        if isinstance(old, MapType) and isinstance(new, MapType):
            return MapType(
                self._merged(old.keyType, new.keyType), self._merged(old.valueType, new.valueType)
            )
        return _wider(old, new)


def _pairs(before: StructType, after: StructType) -> list[Pair]:
    """By the names that files have, which a renamed column keeps; else by name."""
    physical = {one.metadata[PHYSICAL]: one for one in before if PHYSICAL in one.metadata}
    same = {one.name: physical.get(one.metadata.get(PHYSICAL, "")) for one in after}
    taken = {one.name for one in same.values() if one is not None}
    named = {one.name.lower(): one for one in before if one.name not in taken}
    return [Pair(one, same[one.name] or named.get(one.name.lower())) for one in after]


def _wider(old: DataType, new: DataType) -> DataType:
    """A type that holds the values of both; text where there is none."""
    both = (old, new)
    if all(isinstance(kind, IntegralType) for kind in both):
        return LongType()
    if all(isinstance(kind, IntegralType | DecimalType) for kind in both):
        exact = [kind if isinstance(kind, DecimalType) else _INTEGERS for kind in both]
        scale = max(kind.scale for kind in exact)
        digits = max(kind.precision - kind.scale for kind in exact) + scale
        return DecimalType(digits, scale) if digits <= _MOST_DIGITS else StringType()
    if all(isinstance(kind, NumericType) for kind in both):
        exact_too = any(isinstance(kind, DecimalType | LongType) for kind in both)
        return StringType() if exact_too else DoubleType()
    if {type(kind) for kind in both} == {DateType, TimestampNTZType}:
        return TimestampNTZType()
    return StringType()


def in_order(value: Column, kind: DataType) -> Column:
    """A value as two can be compared: sorted entries in the place of maps, JSON in that of VARIANT.

    Spark compares neither.
    """
    if not holds(kind, MapType, VariantType):
        return value
    if isinstance(kind, VariantType):
        return F.to_json(value, IN_FULL)
    if isinstance(kind, StructType):
        fields = [in_order(value[one.name], one.dataType).alias(one.name) for one in kind]
        return F.when(value.isNotNull(), F.struct(*fields))
    if isinstance(kind, ArrayType):
        element = kind.elementType
        return F.transform(value, lambda one: in_order(one, element))
    assert isinstance(kind, MapType)
    inside = kind.valueType
    return F.array_sort(
        F.map_entries(F.transform_values(value, lambda _, one: in_order(one, inside)))
    )


def _aligned(value: Column, kind: DataType, wanted: DataType, after: DataType) -> Column:
    """A value in another type, whose fields it may have fewer or more of.

    after: the type in the later version, which says what its fields are in the files.
    """
    types = (kind, wanted, after)
    if kind == wanted:
        return value
    structs = [one for one in types if isinstance(one, StructType)]
    if len(structs) == len(types):
        fields = []
        for field, pair in zip(structs[1], _pairs(structs[0], structs[2]), strict=True):
            other, inside = pair.before, (field.dataType, pair.after.dataType)
            part = (
                F.lit(None).cast(field.dataType)
                if other is None
                else _aligned(value[other.name], other.dataType, *inside)
            )
            fields.append(part.alias(field.name))
        return F.when(value.isNotNull(), F.struct(*fields))
    if all(isinstance(one, ArrayType) for one in types):
        elements = [one.elementType for one in types if isinstance(one, ArrayType)]
        return F.transform(value, lambda one: _aligned(one, *elements))
    if all(isinstance(one, MapType) for one in types):
        maps = [one for one in types if isinstance(one, MapType)]
        keys, values = ([getattr(one, part) for one in maps] for part in ("keyType", "valueType"))
        renamed = F.transform_keys(value, lambda name, _: _aligned(name, *keys))
        return F.transform_values(renamed, lambda _, one: _aligned(one, *values))
    return value.cast(wanted)


def mixed_up(
    ours: StructType,
    theirs: StructType,
    began: StructType,
    since: StructType,
    *,
    replaced: tuple[bool, bool],
) -> list[str]:
    """Names that stand for different columns of two tables, which both began with a schema.

    So it is where one of them renamed columns, or dropped one and added another of its name. Those
    that both have added are one column. Fields inside of columns count too: `column.field`.

    Args:
        since: that of `ours` when both had the same rows last.
        replaced: whether `ours` and `theirs` were made again since they began. Then their new
            columns are known by their names.
    """
    mine, other, known, last = (_physical(one) for one in (ours, theirs, began, since))
    ids, last_ids = set(known.values()), set(last.values())
    found = list[str]()
    for name in mine.keys() & other.keys():
        is_renamed = (mine[name] in last_ids and last.get(name) != mine[name]) or (
            other[name] in ids and known.get(name) != other[name]
        )
        is_new = (mine[name] in ids and not replaced[1]) or (other[name] in ids and not replaced[0])
        if mine[name] != other[name] and (is_renamed or is_new):
            found.append(".".join(name))
    # Of a column that is another one, so are its fields.
    return [name for name in sorted(found) if name.rpartition(".")[0] not in found]


def renamed(ours: StructType, theirs: StructType) -> dict[str, str]:
    """By their names, columns of one table that another has under a name of its own, with that."""
    mine, other = (
        {one.name: one.metadata.get(PHYSICAL, one.name) for one in schema}
        for schema in (ours, theirs)
    )
    names = {inside: name for name, inside in other.items()}
    return {
        name: names[inside]
        for name, inside in mine.items()
        if name not in other and names.get(inside, name) not in mine
    }


def _physical(kind: DataType) -> dict[tuple[str, ...], tuple[str, ...]]:
    """By the path of names to each field, the path of the names that files have."""
    if isinstance(kind, ArrayType):
        return _physical(kind.elementType)
    if isinstance(kind, MapType):
        return {
            (place, *name): (place, *inside)
            for place, part in (("key", kind.keyType), ("value", kind.valueType))
            for name, inside in _physical(part).items()
        }
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for field in kind if isinstance(kind, StructType) else ():
        here = field.metadata.get(PHYSICAL, field.name)
        found[(field.name,)] = (here,)
        found |= {
            (field.name, *name): (here, *inside)
            for name, inside in _physical(field.dataType).items()
        }
    return found
