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

from alluvium.engine.causes import chain

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

    A writer that makes a checkpoint deletes older commits: those older than the table property
    delta.logRetentionDuration. Delta forgets the state of all but the newest version.
    """
    missing = ("FileNotFoundException", "NoSuchFileException")
    return any(
        cause.getClass().getSimpleName() in missing and "/_delta_log/" in str(cause.getMessage())
        for cause in chain(error.java_exception)
    )
