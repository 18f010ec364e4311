"""What Spark says of its data types."""

from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

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
    return isinstance(kind, MapType) and (
        holds(kind.keyType, *wanted) or holds(kind.valueType, *wanted)
    )
