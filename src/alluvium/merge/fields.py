"""Fields inside structs, arrays and maps: what a batch changes of those that a table has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructField, StructType

from alluvium.names import quoted

_NESTED = (StructType, ArrayType, MapType)


@dataclass(frozen=True)
class Change:
    """One field that table and batch have differently.

    Attributes:
        path: names from the column down; `element` of an array, `key` and `value` of a map.
        stored: its type in the table; None where the batch brings it.
        given: its type in the batch; None where only the table has it.
    """

    path: tuple[str, ...]
    stored: DataType | None
    given: DataType | None

    @property
    def name(self) -> str:
        """The path as DDL takes it."""
        return ".".join(map(quoted, self.path))

    @property
    def is_untyped(self) -> bool:
        """Whether one of both is of NULLs alone (VOID)."""
        return isinstance(self.stored, NullType) or isinstance(self.given, NullType)

    def __str__(self) -> str:
        path = ".".join(self.path)
        if self.stored is None:
            kind = "" if self.given is None else f" ({self.given.simpleString()})"
            return f"{path} is new{kind}"
        if self.given is None:
            return f"{path} is gone"
        given, stored = self.given.simpleString(), self.stored.simpleString()
        return f"{path} is {given}, in the table {stored}"


def changes(table: StructType, batch: StructType) -> list[Change]:
    """What differs inside the columns that both have and that are structs, arrays or maps.

    Names are compared as Spark does, whatever their case. Another order of fields is not a
    difference.
    """
    return [
        change
        for stored, given in _pairs(table, batch)
        if given is not None and isinstance(stored.dataType, _NESTED)
        for change in _changes((stored.name,), stored.dataType, given.dataType)
    ]


def retyped(table: StructType, batch: StructType) -> list[Change]:
    """Plain columns that both have, with other types."""
    return [
        Change((stored.name,), stored.dataType, given.dataType)
        for stored, given in _pairs(table, batch)
        if given is not None
        and not isinstance(stored.dataType, _NESTED)
        and stored.dataType != given.dataType
    ]


def untyped(table: StructType, batch: StructType) -> list[Change]:
    """Columns and fields that have no type in a table (VOID), and that a batch gives one.

    A table holds no values of them.
    """
    return [
        change
        for change in _changes((), table, batch)
        if isinstance(change.stored, NullType) and change.given is not None
    ]


def are_moved(table: DataType, batch: DataType, *, is_inside: bool = False) -> bool:
    """Whether fields inside an array or a map stand in another order.

    Delta finds the fields of a struct by name, but casts some that lie deeper by their places.

    is_inside: whether these types lie in an array or a map.
    """
    if isinstance(table, StructType) and isinstance(batch, StructType):
        both = [(one, other) for one, other in _pairs(table, batch) if other is not None]
        places = [batch.fields.index(other) for _, other in both]
        return (is_inside and places != sorted(places)) or any(
            are_moved(one.dataType, other.dataType, is_inside=is_inside) for one, other in both
        )
    if isinstance(table, ArrayType) and isinstance(batch, ArrayType):
        return are_moved(table.elementType, batch.elementType, is_inside=True)
    if isinstance(table, MapType) and isinstance(batch, MapType):
        return are_moved(table.keyType, batch.keyType, is_inside=True) or are_moved(
            table.valueType, batch.valueType, is_inside=True
        )
    return False


def fitted(table: StructType, batch: StructType) -> StructType:
    """The batch's schema with the table's fields, in its order; types stay where both have one."""
    places = {field.name.lower(): field for field in table}
    return StructType(
        [
            StructField(
                field.name,
                _fitted(places[field.name.lower()].dataType, field.dataType)
                if field.name.lower() in places
                else field.dataType,
                field.nullable,
                field.metadata,
            )
            for field in batch
        ]
    )


def _fitted(stored: DataType, given: DataType) -> DataType:
    if isinstance(stored, StructType) and isinstance(given, StructType):
        fields = []
        for one, other in _pairs(stored, given):
            if other is None:
                fields.append(StructField(one.name, one.dataType, True))
            else:
                kind = _fitted(one.dataType, other.dataType)
                fields.append(StructField(one.name, kind, other.nullable))
        return StructType(fields)
    if isinstance(stored, ArrayType) and isinstance(given, ArrayType):
        return ArrayType(_fitted(stored.elementType, given.elementType), given.containsNull)
    if isinstance(stored, MapType) and isinstance(given, MapType):
        return MapType(
            _fitted(stored.keyType, given.keyType),
            _fitted(stored.valueType, given.valueType),
            given.valueContainsNull,
        )
    return given


def _changes(path: tuple[str, ...], stored: DataType, given: DataType) -> Iterator[Change]:
    if isinstance(stored, StructType) and isinstance(given, StructType):
        for one, other in _pairs(stored, given):
            at = (*path, one.name)
            if other is None:
                yield Change(at, one.dataType, None)
            else:
                yield from _changes(at, one.dataType, other.dataType)
        known = {field.name.lower() for field in stored}
        for field in given:
            if field.name.lower() not in known:
                yield Change((*path, field.name), None, field.dataType)
    elif isinstance(stored, ArrayType) and isinstance(given, ArrayType):
        yield from _changes((*path, "element"), stored.elementType, given.elementType)
    elif isinstance(stored, MapType) and isinstance(given, MapType):
        yield from _changes((*path, "key"), stored.keyType, given.keyType)
        yield from _changes((*path, "value"), stored.valueType, given.valueType)
    elif stored != given:
        yield Change(path, stored, given)


def _pairs(
    stored: StructType, given: StructType
) -> Iterator[tuple[StructField, StructField | None]]:
    names = {field.name.lower(): field for field in given}
    for field in stored:
        yield field, names.get(field.name.lower())
