"""A project whose manifest, notes and logs are written by hand: a stream, a merge, a publish."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from alluvium.plan.status import notes
from alluvium.plan.status.table import FailedAudit, NodeNote
from support.delta_log import ID, add, column, commit, info, metadata, protocol, txn

NOW = datetime(2025, 1, 31, 18, 0, tzinfo=UTC)
MERGED = "model.shop.orders_wap"
HELD = FailedAudit(ID, 2, 3, {"kept": "40 rows, readers see 100", "not_null": "2 rows"})


def ago(**spans: float) -> datetime:
    return NOW - timedelta(**spans)


def millis(time: datetime) -> int:
    return int(time.timestamp() * 1000)


@dataclass
class Shop:
    """A stream, what merges it, and what shows that."""

    folder: Path
    nodes: dict[str, Any]

    @property
    def home(self) -> Path:
        return self.folder / ".alluvium"

    def place(self, name: str) -> Path:
        return self.home / "warehouse" / "shop.db" / name

    def node(self, name: str, materialized: str, *parents: str, sql: str = "", **meta: Any) -> None:
        self.nodes[f"model.shop.{name}"] = {
            "unique_id": f"model.shop.{name}",
            "name": name,
            "resource_type": "model",
            "package_name": "shop",
            "schema": "shop",
            "alias": name,
            "original_file_path": f"models/{name}.sql",
            "raw_code": sql,
            "depends_on": {"nodes": [f"model.shop.{one}" for one in parents]},
            "config": {"materialized": materialized, "meta": meta},
        }
        self.save()

    def save(self) -> None:
        target = self.folder / "target"
        target.mkdir(exist_ok=True)
        manifest = {"metadata": {"project_name": "shop"}, "nodes": self.nodes}
        (target / "manifest.json").write_text(json.dumps(manifest))
        build = notes.Build(".alluvium", "dev", "shop", {"realtime": 900.0})
        (target / notes.BUILD).write_text(notes.text(build))

    def note(self, name: str, outcome: str = "success", held: FailedAudit | None = None) -> None:
        folder = self.home / notes.FOLDER
        folder.mkdir(exist_ok=True)
        found = NodeNote(f"warehouse/shop.db/{name}", ID, ago(minutes=5), outcome, held)
        (folder / notes.file_name(f"shop.{name}")).write_text(notes.text(found, f"shop.{name}"))

    def arrive(self, batch: int, events: int, when: datetime) -> None:
        """A batch of the stream."""
        stats = {"numRecords": events, "nullCount": {"_source_timestamp": 0}}
        bounds = {"_source_timestamp": when.isoformat()}
        stats |= {"minValues": bounds, "maxValues": bounds}
        file = add(f"batch-{batch}", stats=json.dumps(stats))
        note = json.dumps({"alluvium_stream": {"batch_id": batch}})
        metrics = {"numOutputRows": str(events)}
        said = info("STREAMING UPDATE", millis(when), userMetadata=note, operationMetrics=metrics)
        commit(self.place("orders_events"), batch, said, file)

    def merge(self, version: int, through: int, when: datetime, **figures: Any) -> None:
        note = json.dumps({"alluvium_merge": {"rejected": 0, **figures}})
        metrics = {"numTargetRowsInserted": "9"}
        said = info("MERGE", millis(when), userMetadata=note, operationMetrics=metrics)
        done = txn(f"alluvium/{MERGED}/{ID}", through)
        commit(self.place("orders_wap"), version, said, done, add(f"merge-{version}"))

    def pin(self, kind: str, name: str, *files: str) -> Path:
        """A table that shows files of the merged one; its folder."""
        place, of = self.place(name), self.place("orders_wap")
        entry = {"kind": kind, "name": name, "location": f"file:{place}", "noted_at": "then"}
        register = of / "_alluvium/dependents"
        register.mkdir(parents=True, exist_ok=True)
        (register / f"{name}.json").write_text(json.dumps(entry))
        shown = (add(f"file:{of}/{one}") for one in files)
        commit(place, 0, info("CLONE", millis(NOW)), protocol(), metadata(), *shown)
        return place

    def publish(self, version: int, of: int, when: datetime, hold: int = 0) -> None:
        note = json.dumps({"alluvium_published": {"version": of, "candidate": "orders_wap"}})
        said = info("Manual Update", millis(when), userMetadata=note)
        head = [txn(f"alluvium/published/{ID}", of), txn("alluvium/hold", hold)]
        commit(self.place("orders"), version, said, *head)


def shop(folder: Path) -> Shop:
    """All is well in it."""
    found = Shop(folder, {})
    found.home.mkdir(parents=True)
    found.node("orders_events", "streaming_table")
    found.node("batch", "view", "orders_events")
    merge = {"order_by": "at", "delete_when": "gone"}
    found.node("orders_wap", "incremental", "batch", alluvium_merge=merge, alluvium_tier="realtime")
    found.node("orders", "published", "orders_wap", sql="select * from {{ ref('orders_wap') }}")
    events = metadata(column("_source_timestamp", "timestamp"))
    heads = (protocol(), metadata())
    created = info("CREATE TABLE", millis(ago(days=9)))
    commit(found.place("orders_events"), 0, created, protocol(), events)
    commit(found.place("orders_wap"), 0, created, *heads)
    commit(found.place("orders"), 0, created, *heads)
    found.arrive(1, 100, ago(hours=3))
    found.merge(1, 1, ago(hours=2), rejected=3)
    found.publish(1, 1, ago(hours=2))
    return found
