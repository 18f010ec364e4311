"""What is kept of the commits that were seen, in a table with a row for each commit and block."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta import footers
from alluvium.plan.versions.snapshots import BLOCKS, State, Totals

_INSTANT = pa.timestamp("us", tz="UTC")
_MOVES = [f"{what}_{way}" for what in ("blocks", "rows", "bytes") for way in ("added", "removed")]
COMMIT = pa.struct(
    [
        ("snapshot_id", pa.string()),
        ("previous_snapshot_id", pa.string()),
        ("committed_at", _INSTANT),
        ("operation", pa.string()),
        ("message", pa.string()),
        ("feed", pa.string()),
        ("batch", pa.int64()),
        ("author", pa.string()),
        *((name, pa.int64()) for name in [*asdict(Totals()), *_MOVES]),
    ]
)
BLOCK = pa.struct(
    [
        ("path", pa.string()),
        ("location", pa.string()),
        ("segment", pa.int64()),
        ("blocks", pa.int64()),
        ("row_count", pa.int64()),
        ("deleted_rows", pa.int64()),
        ("bytes", pa.int64()),
        ("bytes_uncompressed", pa.int64()),
        ("footer", footers.FOOTER),
    ]
)
# A row for each commit, and one for each block that it changed: `block` or `commit` is NULL. What
# the numbers mean says `plan.versions.snapshots`. Only a block that came has location and footer.
ACTION_ROWS = pa.schema(
    [
        ("model", pa.string()),
        ("table_name", pa.string()),
        ("table_id", pa.string()),
        ("version", pa.int64()),
        ("commit", COMMIT),
        ("block", BLOCK),
    ]
)


@dataclass(frozen=True)
class Seen:
    """The newest commit of a table that is kept.

    Attributes:
        table_id: the id of the table's metadata.
        id: of the commit.
    """

    version: int
    table_id: str
    id: str
    totals: Totals


class Kept:
    """A table with columns as ACTION_ROWS; or none, which keeps nothing.

    name: as SQL writes it; None for none.
    """

    def __init__(self, session: SparkSession, name: str | None) -> None:
        self._session, self._name = session, name

    def seen(self) -> dict[str, Seen]:
        """The newest commit of each table, by the table's name."""
        if self._name is None:
            return {}
        newest = (
            self._session.table(self._name)
            .where("commit is not null")
            .groupBy("table_name")
            .agg(F.expr("max_by(struct(version, table_id, commit), version) as last"))
        )
        return {
            one["table_name"]: Seen(
                one["last"]["version"],
                one["last"]["table_id"],
                one["last"]["commit"]["snapshot_id"],
                Totals(**{name: one["last"]["commit"][name] for name in asdict(Totals())}),
            )
            for one in newest.toArrow().to_pylist()
        }

    def state(self, table: str, last: Seen, paths: pa.Array | None) -> State:
        """The table as it was seen last: totals, and the live ones of these blocks.

        paths: None for all of them.
        """
        if paths is not None and not len(paths):
            return State(last.totals)
        blocks = self._blocks(table)
        touched = blocks if paths is None else self._among(blocks, "path", paths)
        known = "if(count({0}) = count(*), sum({0}), null)"
        live = (
            touched.groupBy("path")
            .agg(
                F.expr("max_by(segment, version) as segment"),
                F.expr(f"{known.format('row_count + deleted_rows')} as rows"),
                F.expr("sum(deleted_rows) as deleted"),
                F.expr("sum(bytes) as bytes"),
                F.expr(f"{known.format('bytes_uncompressed')} as bytes_uncompressed"),
                F.expr("sum(blocks) as n"),
            )
            .where("n > 0")
            .select(*BLOCKS.names)
            .toArrow()
            .cast(BLOCKS)
        )
        if not live.num_rows:
            return State(last.totals)
        of_segment = pa.table({"segment": pc.unique(live["segment"])})
        counts = (
            blocks.join(
                F.broadcast(self._session.createDataFrame(of_segment).toDF("wanted")),
                F.col("segment").eqNullSafe(F.col("wanted")),
                "left_semi",
            )
            .groupBy("segment")
            .agg(F.expr("sum(blocks) as n"))
            .toArrow()
            .to_pylist()
        )
        return State(last.totals, live, {one["segment"]: one["n"] for one in counts})

    def footers(self, locations: pa.Array) -> pa.Table:
        """Those footers of files that were read, of any table: `location` and `footer`."""
        empty = pa.schema([("location", pa.string()), ("footer", footers.FOOTER)]).empty_table()
        if self._name is None or not len(locations):
            return empty
        read = (
            self._session.table(self._name)
            .where("block.footer is not null")
            .selectExpr("block.location as location", "block.footer as footer")
        )
        found = self._among(read, "location", locations)
        return (
            found.groupBy("location").agg(F.expr("any_value(footer) as footer")).toArrow()
        ).cast(empty.schema)

    def _blocks(self, table: str) -> DataFrame:
        assert self._name is not None
        return (
            self._session.table(self._name)
            .where((F.col("table_name") == table) & F.col("block").isNotNull())
            .select("version", "block.*")
        )

    def _among(self, rows: DataFrame, name: str, values: pa.Array) -> DataFrame:
        wanted = self._session.createDataFrame(pa.table({name: values}))
        return rows.join(F.broadcast(wanted), name, "left_semi")
