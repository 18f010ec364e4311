"""What a table's log says under a domain's name: of liquid clustering the columns."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pyspark.sql import SparkSession

from alluvium.delta.handles import DeltaAction, DeltaSnapshot
from alluvium.delta.internals import DOMAIN_METADATA
from alluvium.delta.log import committing
from alluvium.engine import jvm
from alluvium.plan.versions.properties import PHYSICAL

_CLUSTERING = "delta.clustering"


def restored(
    session: SparkSession, then: DeltaSnapshot, now: DeltaSnapshot
) -> Iterator[DeltaAction]:
    """The actions by which a table has the domains of an earlier version, as Delta's RESTORE."""
    domains = jvm.internal(session, DOMAIN_METADATA)
    yield from jvm.items(domains.handleDomainMetadataForRestoreTable(then, now))


def without_lost_columns(
    session: SparkSession, now: DeltaSnapshot, schema: str
) -> Iterator[DeltaAction]:
    """The action by which a table is no longer clustered by columns that its new schema lacks.

    schema: JSON as Delta has it.
    """
    there = {
        field["metadata"].get(PHYSICAL, field["name"]) for field in json.loads(schema)["fields"]
    }
    for one in jvm.items(now.domainMetadata()):
        if one.domain() != _CLUSTERING:
            continue
        said = json.loads(one.configuration())
        kept = [path for path in said["clusteringColumns"] if path[0] in there]
        if kept != said["clusteringColumns"]:
            content = {
                "domain": _CLUSTERING,
                "configuration": json.dumps({**said, "clusteringColumns": kept}),
                "removed": False,
            }
            yield committing.action(session, "domainMetadata", content)
