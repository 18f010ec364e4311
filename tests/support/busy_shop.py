"""A shop with three feeds and two days of commits: one is late, one held back, one is well."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from pathlib import Path

from alluvium.plan.status.table import FailedAudit
from support.delta_log import ID, add, column, commit, info, metadata, protocol, remove, txn
from support.shop import Shop, ago, millis

_FAILED = {"rows_kept_orders": "40 rows, readers see 51,204", "not_null_orders_id": "2 rows"}
_LAYOUT = {"bucket_by": {"column": "day", "window": "day"}, "sort_by": ["id"], "fan_in": 8}
_MIB = 2**20


def busy_shop(folder: Path) -> Shop:
    shop = Shop(folder, {})
    shop.home.mkdir()
    drawn = random.Random(7)
    _feed(shop, drawn, "clicks", "Each click on a page, once.", 80, 9_000, 10, 4)
    _feed(shop, drawn, "orders", "Each order as it stands.", 44, 1_200, 30, 25, held=True)
    _feed(shop, drawn, "payments", "What was paid for orders.", 60, 300, 15, 40, late=3)
    return shop


def _feed(
    shop: Shop,
    drawn: random.Random,
    name: str,
    about: str,
    batches: int,
    events: int,
    minutes: int,
    newest: int,
    held: bool = False,
    late: int = 0,
) -> None:
    """A feed with so many batches of so many events, and so many minutes between them.

    newest: minutes since the last one that is merged.
    held, late: whether its audit holds back, and batches that wait; such feeds are published.
    """
    is_published = held or late > 0
    stream, merged = f"{name}_events", f"{name}_wap" if is_published else name
    shop.node(stream, "streaming_table")
    shop.nodes[f"model.shop.{stream}"]["depends_on"] = {"nodes": [f"source.shop.kafka.{name}"]}
    meta = {"alluvium_merge": {}, "alluvium_tier": "realtime", "alluvium_layout": _LAYOUT}
    shop.node(merged, "incremental", stream, **meta)
    if is_published:
        shop.node(name, "published", merged, sql=f"select * from {{{{ ref('{merged}') }}}}")
    shop.nodes[f"model.shop.{name}"]["description"] = about
    shop.save()
    created = info("CREATE TABLE", millis(ago(days=2)))
    time = metadata(column("_source_timestamp", "timestamp"))
    commit(shop.place(stream), 0, created, protocol(), time)
    columns = metadata(column("id"), column("day", "date"), by=["day"])
    commit(shop.place(merged), 0, created, protocol(), columns)
    version, live = 0, list[str]()
    for batch in range(1, batches + 1):
        at = ago(minutes=newest + (batches - batch) * minutes)
        many = int(events * drawn.lognormvariate(0, 0.5))
        _arrive(shop, stream, batch, many, at)
        version += 1
        _merge(shop, merged, version, batch, many, len(live), at, drawn)
        live += [f"merged-{version}-{part}" for part in (0, 1)]
        if batch % 14 == 0:
            version += 1
            _compact(shop, merged, version, live, at)
            live = [f"compacted-{version}"]
    for batch in range(late):
        _arrive(shop, stream, batches + 1 + batch, events, ago(minutes=23 - 10 * batch))
    failed = FailedAudit(ID, version, 5, _FAILED) if held else None
    shop.note(stream)
    shop.note(merged, held=failed)
    if is_published:
        commit(shop.place(name), 0, created, protocol(), metadata())
        shows = version - 2 if held else version
        note = json.dumps({"alluvium_published": {"version": shows, "candidate": merged}})
        said = info("Manual Update", millis(ago(minutes=newest + 2 * minutes)), userMetadata=note)
        commit(shop.place(name), 1, said, txn(f"alluvium/published/{ID}", shows))


def _arrive(shop: Shop, stream: str, batch: int, events: int, at: datetime) -> None:
    bounds = {"_source_timestamp": at.isoformat()}
    stats = {"numRecords": events, "nullCount": {"_source_timestamp": 0}}
    stats |= {"minValues": bounds, "maxValues": bounds}
    file = add(f"batch-{batch}", size=events * 90, stats=json.dumps(stats))
    note = json.dumps({"alluvium_stream": {"batch_id": batch}})
    figures = {"numOutputRows": str(events)}
    said = info("WRITE", millis(at), userMetadata=note, operationMetrics=figures)
    commit(shop.place(stream), batch, said, file)


def _merge(
    shop: Shop,
    table: str,
    version: int,
    batch: int,
    events: int,
    live: int,
    at: datetime,
    drawn: random.Random,
) -> None:
    kept = min(live, max(1, int(drawn.lognormvariate(1, 0.5))))
    figures = {"events": events, "rejected": int(batch % 20 == 0), "key_count": events}
    figures |= {"files_kept": kept, "files_total": live}
    metrics = {"executionTimeMs": str(int(1000 * drawn.lognormvariate(0.6, 0.3)))}
    metrics["numTargetRowsInserted"] = str(events)
    said = info(
        "MERGE",
        millis(at + timedelta(seconds=40)),
        userMetadata=json.dumps({"alluvium_merge": figures}),
        operationMetrics=metrics,
    )
    files = [
        add(
            f"merged-{version}-{part}",
            size=int(drawn.lognormvariate(14, 1)),
            rows=events // 2,
            partitionValues={"day": f"2025-01-{30 + part}"},
        )
        for part in (0, 1)
    ]
    done = txn(f"alluvium/model.shop.{table}/{ID}", batch)
    commit(shop.place(table), version, said, done, *files)


def _compact(shop: Shop, table: str, version: int, live: list[str], at: datetime) -> None:
    when = millis(at + timedelta(seconds=60))
    gone = [remove(path, dataChange=False, deletionTimestamp=when) for path in live]
    day = {"day": "2025-01-31"}
    file = add(f"compacted-{version}", 40 * _MIB, 90_000, dataChange=False, partitionValues=day)
    commit(shop.place(table), version, info("OPTIMIZE", when), *gone, file)
