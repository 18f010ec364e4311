"""What Spark says of its data types."""

from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructType

from alluvium.engine import jvm
from alluvium.engine.internals import CAST


def is_assignable(session: SparkSession, given: DataType, stored: DataType) -> bool:
    """Whether ANSI lets values of a type be stored as another one."""
    cast, kinds = jvm.internal(session, CAST), (given, stored)
    return bool(cast.canANSIStoreAssign(*(jvm.data_type(session, one) for one in kinds)))


def nullable_ddl(session: SparkSession, kind: DataType) -> str:
    """A type as SQL writes it, where each of its fields may be NULL."""
    return str(jvm.data_type(session, kind).asNullable().sql())


def holds(kind: DataType, *wanted: type[DataType]) -> bool:
    """Whether a type is of one of these kinds, or has one of them inside."""
    if isinstance(kind, wanted):
        return True
    if isinstance(kind, StructType):
        return any(holds(field.dataType, *wanted) for field in kind)
    if isinstance(kind, ArrayType):
        return holds(kind.elementType, *wanted)
    if isinstance(kind, MapType):
        return holds(kind.keyType, *wanted) or holds(kind.valueType, *wanted)
    return False


def is_hollow(kind: DataType) -> bool:
    """Whether Delta writes no values of a type: a struct, array or map of NULLs without a type.

    A column of its own may be without one, and a field beside others that have one.
    """
    if isinstance(kind, StructType):
        inside = [field.dataType for field in kind]
        return any(map(is_hollow, inside)) or all(isinstance(one, NullType) for one in inside)
    return isinstance(kind, ArrayType | MapType) and holds(kind, NullType)
