"""What a version's checksum file says: without it Delta has to put the table's state together."""

from __future__ import annotations

from typing import Any

from alluvium.delta.handles import DeltaSnapshot
from alluvium.engine import jvm
from alluvium.engine.handles import JavaOption


def of(snapshot: DeltaSnapshot) -> JavaOption:
    """The checksum, as an option: Delta may not know that of its own last commit."""
    known, version = snapshot.checksumOpt(), snapshot.version()
    return known if known.isDefined() else snapshot.deltaLog().readChecksum(version, known)


def transactions(snapshot: DeltaSnapshot) -> list[Any] | None:
    """The newest `txn` action of each application; None where no checksum has them."""
    found = of(snapshot)
    noted = found.get().setTransactions() if found.isDefined() else found
    return jvm.items(noted.get()) if noted.isDefined() else None


def all_transactions(snapshot: DeltaSnapshot) -> list[Any]:
    """The same; where no checksum has them, of the table's state."""
    noted = transactions(snapshot)
    return jvm.items(snapshot.setTransactions()) if noted is None else noted
