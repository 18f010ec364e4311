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
from py4j.protocol import Py4JJavaError

# What comes out of the JVM has no base class of Delta's own.
OTHER_ROWS = (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
)
OTHER_TABLE = (MetadataChangedException, ProtocolChangedException)


def log_is_gone(error: Py4JJavaError) -> bool:
    """Whether the version that was read can no longer be read.

    A writer that makes a checkpoint deletes commits before it that are older than the table
    property delta.logRetentionDuration, and Delta forgets the state of all but the newest version.
    """
    cause = error.java_exception
    while cause is not None:
        missing = cause.getClass().getSimpleName() in (
            "FileNotFoundException",
            "NoSuchFileException",
        )
        if missing and "/_delta_log/" in str(cause.getMessage()):
            return True
        cause = cause.getCause()
    return False
