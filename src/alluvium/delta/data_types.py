"""What Delta says of data types."""

from pyspark.sql import SparkSession
from pyspark.sql.types import AtomicType, DataType

from alluvium.delta.internals import TYPE_WIDENING
from alluvium.engine import jvm


def is_wider(session: SparkSession, given: DataType | None, stored: DataType | None) -> bool:
    """Whether Delta can make a column of one type one of another, given type."""
    if not isinstance(stored, AtomicType) or not isinstance(given, AtomicType):
        return False
    kinds = (jvm.data_type(session, one) for one in (stored, given))
    return bool(jvm.internal(session, TYPE_WIDENING).isTypeChangeSupported(*kinds))
