"""What Delta raises where another writer was faster; the refused commit changed nothing."""

from delta.exceptions import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    MetadataChangedException,
    ProtocolChangedException,
)

# What comes out of the JVM has no base class of Delta's own.
OTHER_ROWS = (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
)
OTHER_TABLE = (MetadataChangedException, ProtocolChangedException)
