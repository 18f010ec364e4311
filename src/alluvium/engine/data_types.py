"""What Spark says of its data types."""

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

from alluvium.engine import jvm
from alluvium.engine.internals import CAST


def is_assignable(session: SparkSession, given: DataType, stored: DataType) -> bool:
    """Whether ANSI lets values of a type be stored as another one."""
    cast, kinds = jvm.internal(session, CAST), (given, stored)
    return bool(cast.canANSIStoreAssign(*(jvm.data_type(session, one) for one in kinds)))


def nullable_ddl(session: SparkSession, kind: DataType) -> str:
    """A type as SQL writes it, where each of its fields may be NULL."""
    return str(jvm.data_type(session, kind).asNullable().sql())
