"""The data files of a table, as its log has them, and how they may be laid out."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructField, TimestampType

from alluvium import marks
from alluvium.delta.internals import CLUSTERED_TABLES, ROW_TRACKING
from alluvium.delta.log import log
from alluvium.delta.rewrite import automata
from alluvium.engine import jvm, zone
from alluvium.engine.handles import JavaColumn
from alluvium.names import among, did_you_mean
from alluvium.plan.compaction import tags
from alluvium.plan.fragment import FRAGMENT_SCHEMA
from alluvium.plan.layout import sort_key, zorder
from alluvium.plan.layout.generated import bucket_partition
from alluvium.plan.layout.of_table import key_columns, newest_cuts
from alluvium.plan.snapshot import Field

# What was read last, the oldest first: the hook, the data tests and the tables about tables of
# one run look at the same versions.
_read: dict[Hashable, pa.Table] = {}
_MOST_READ = 16
_reading = threading.Lock()


def check_sort_key(
    columns: Sequence[str], fields: Iterable[StructField], partition: Sequence[str]
) -> None:
    """Raises ValueError unless rows of these fields can be sorted by the columns.

    partition: names of the columns that their table is partitioned by.
    """
    known = {field.name.lower(): field for field in fields}
    mistakes = []
    for name in columns:
        if name.lower() not in known:
            names = [f.name for f in known.values() if not among(f.name, partition)]
            meant = did_you_mean(name, names)
            mistakes.append(f"{name}: no such column; accepted: {', '.join(names)}{meant}")
        elif among(name, partition):
            mistakes.append(f"{name}: all rows of a bucket share it; accepted: other columns")
        elif not sort_key.is_sortable(kind := known[name.lower()].dataType.simpleString()):
            mistakes.append(f"{name}: {kind} has no order; accepted: {sort_key.SUPPORTED}")
    if mistakes:
        raise ValueError("sort_by: " + "; ".join(mistakes))


class TableFiles:
    """The files of one version of a table, the newest.

    Attributes:
        copy: the session that asks, with settings of its own.
        log, snapshot: Delta's own, of the table and of the version.
        fields: the columns, by their names in small letters.
        partition_by: names of the columns that the table is partitioned by.

    Raises:
        ValueError: there is not a Delta table of this name.
    """

    def __init__(self, session: SparkSession, table: str) -> None:
        self.copy = jvm.SessionCopy(session)
        with self.copy.active():
            self.log = log.delta_log(session, table)
            self.snapshot = log.newest_of(session, self.log)
        if self.version < 0:
            raise ValueError(f"{table} is not a Delta table; accepted: file_format delta")
        self.fields = {field.name.lower(): field for field in log.schema_of(self.snapshot)}
        self.partition_by = list(self.snapshot.metadata().partitionSchema().fieldNames())

    @property
    def version(self) -> int:
        return int(self.snapshot.version())

    def fragments(
        self,
        first: str | None,
        bucket_column: str | None,
        window: str | None,
        sorted_by: str = "",
    ) -> pa.Table:
        """The data files, a row each, columns as `plan.fragment.FRAGMENT_SCHEMA`.

        first: column by whose statistics untagged files are placed, the sort key's first one; None
            where the log does not tell their place.
        bucket_column: partition column whose values stand for a time of one `window`, or the
            timestamp that the table has such a column for.
        sorted_by: sort key of whose files the tags tell the place, so that nothing else has to.

        `lo` and `hi` are NULL where a tag tells them.

        Of the versions that this process has read last nothing is read again.

        Raises:
            ValueError: there is no such partition column.
        """
        own = self.copy.conf.get(zone.KEY)
        table = (self.log.dataPath().toString(), self.snapshot.metadata().id())
        key = (*table, self.version, first, bucket_column, window, sorted_by, own)
        with _reading:
            found = _read.get(key)
        if found is None:
            found = self._read_fragments(first, bucket_column, window, sorted_by)
            with _reading:
                _read[key] = found
                while len(_read) > _MOST_READ:
                    del _read[next(iter(_read))]
        return found

    def _read_fragments(
        self,
        first: str | None,
        bucket_column: str | None,
        window: str | None,
        sorted_by: str,
    ) -> pa.Table:
        columns = {
            "path": "path",
            "bytes": "size",
            "deleted": "coalesce(deletionVector.cardinality, 0)",
            "written": "modificationTime / 1000d",
            "tag": f"tags['{marks.LAYOUT_TAG}']",
        }
        rows = log.row_counts(self.copy.session, self.snapshot)
        selected = [self.copy.functions.expr(f"{sql} as {name}") for name, sql in columns.items()]
        selected.append(self._bucket().alias("bucket"))
        selected.append(self._ends(bucket_column, window).alias("ends"))
        selected.append(rows.alias("rows"))
        if first is not None:
            field = self.fields[first.lower()]
            known = log.statistics(self.copy.session, self.snapshot, field, rows)
            selected += [value.alias(f"first_{name}") for name, value in known.items()]
        with self.copy.active():
            files = self.snapshot.withStats().select(self.copy.seq(selected))
            found = DataFrame(files, self.copy.session).toArrow()
        lo = hi = pa.nulls(found.num_rows, pa.string())
        if first is not None:
            untold = pc.invert(tags.are_of(found["tag"], sorted_by)).combine_chunks()
            names = ("first_lo", "first_hi", "first_nulls", "rows")
            first_of = [one.combine_chunks() for one in found.filter(untold).select(names)]
            lo, hi = (
                pc.replace_with_mask(lo, untold, pa.array(ends, pa.string()))
                for ends in sort_key.bounds_by_first(*first_of)
            )
        found = found.append_column("lo", lo)
        found = found.append_column("hi", hi)
        return found.select(FRAGMENT_SCHEMA.names).cast(FRAGMENT_SCHEMA)

    def _bucket(self) -> JavaColumn:
        """The partition, in one spelling: writers have several for a time or a decimal."""
        functions = self.copy.functions
        parts = []
        for name in self.partition_by:
            field = self.fields[name.lower()]
            text = log.partition_text(self.copy.session, field)
            value = log.parsed(text, field.dataType)
            if field.dataType == TimestampType():
                # In the session's zone two hours may have one name.
                micros = functions.unix_micros(value).cast("decimal(20)")
                seconds = micros.divide(functions.lit(1_000_000)).cast("decimal(18, 6)")
                since = functions.make_dt_interval(*[functions.lit(0)] * 3, seconds)
                value = functions.expr("timestamp_ntz'1970-01-01'").plus(since)
            texts = [value.cast("string"), text]
            parts += [functions.lit(name), functions.coalesce(self.copy.seq(texts))]
        return (
            functions.to_json(functions.map(self.copy.seq(parts))) if parts else functions.lit("")
        )

    def _ends(self, column: str | None, window: str | None) -> JavaColumn:
        functions = self.copy.functions
        if column is None or window is None:
            return functions.lit(None).cast("double")
        name = bucket_partition(column, window, self.partition_by)
        text = log.partition_text(self.copy.session, self.fields[name.lower()])
        begins = log.parsed(text, TimestampType())
        return begins.plus(functions.expr(f"interval 1 {window}")).cast("double")

    def check_sort_key(self, columns: Sequence[str], others: Iterable[StructField] = ()) -> None:
        """Raises ValueError unless the table's rows can be sorted by these columns.

        others: columns that the table is about to get, beside those that it has.
        """
        new = [field for field in others if field.name.lower() not in self.fields]
        check_sort_key(columns, [*self.fields.values(), *new], self.partition_by)

    def check_index(self, columns: Sequence[str], others: Iterable[StructField] = ()) -> None:
        """Raises ValueError unless the table's files can have indexes of these columns.

        others: as for `check_sort_key`.
        """
        new = [field for field in others if field.name.lower() not in self.fields]
        automata.check(columns, [*self.fields.values(), *new], self.partition_by)

    def check_rewritable(self) -> None:
        """Raises ValueError unless the table's files may be merged."""
        transactions = jvm.items(self.snapshot.setTransactions())
        if any(action.appId().startswith(marks.PUBLISHED) for action in transactions):
            raise ValueError(
                "the table is published: its files are those of its candidate, and the next publish"
                " would put them back; accepted: the candidate"
            )
        protocol, metadata = self.snapshot.protocol(), self.snapshot.metadata()
        if self.copy.internal(ROW_TRACKING).isEnabled(protocol, metadata):
            raise ValueError(
                "the table tracks rows (delta.enableRowTracking), and merging files would give them"
                " new ids; accepted: tables without row tracking"
            )
        clustered = self.copy.internal(CLUSTERED_TABLES)
        clustering = clustered.getClusteringColumnsOptional(self.snapshot)
        if clustering.isDefined() and clustering.get().nonEmpty():
            raise ValueError(
                "the table has liquid clustering, which lays out the same files by other columns;"
                " accepted: tables without CLUSTER BY"
            )

    def key_columns(self, columns: Sequence[str]) -> tuple[tuple[str, ...], str]:
        """`of_table.key_columns` of these."""
        return key_columns(_field(self.fields[name.lower()]) for name in columns)

    def key_types(self, columns: Sequence[str], cuts: zorder.Cuts | None) -> list[pa.DataType]:
        """Types of what a sort key is made of, for `sort_key.decode`: with cuts of a Z-order the
        place on the curve comes first."""
        kinds = (self.fields[name.lower()].dataType for name in columns)
        found = [to_arrow_type(kind, timezone="UTC") for kind in kinds]
        return [pa.int64(), *found] if cuts else found

    def cuts(self, columns: Sequence[str]) -> zorder.Cuts | None:
        """The newest cuts for a Z-order of the columns that the log has."""
        actions = jvm.items(self.snapshot.setTransactions())
        return newest_cuts(
            ((one.appId(), int(one.version())) for one in actions), self.kinds(columns)
        )

    def kinds(self, columns: Sequence[str]) -> list[tuple[str, str]]:
        """The columns, and of what kind each is in a Z-order."""
        types = (self.fields[name.lower()].dataType.simpleString() for name in columns)
        return [(name, zorder.kind_of(kind)) for name, kind in zip(columns, types, strict=True)]


def _field(given: StructField) -> Field:
    return Field(given.name, given.dataType.simpleString(), given.metadata)
