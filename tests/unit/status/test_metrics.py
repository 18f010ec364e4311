"""Metrics of a project whose logs are written by hand, read back by Prometheus' own parser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.shop import HELD, MERGED, Shop, ago

from alluvium.command import main as command

MODEL = (("model", "orders"), ("source", "orders_events"))


def metrics(path: Path) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (one.name, tuple(sorted(one.labels.items()))): one.value
        for family in text_string_to_metric_families(path.read_text())
        for one in family.samples
    }


def result(unique_id: str, status: str, seconds: float, **answer: Any) -> dict[str, Any]:
    ends = [{"name": "execute", "completed_at": "2025-01-31T17:59:00.5Z"}]
    return {
        "unique_id": unique_id,
        "status": status,
        "execution_time": seconds,
        "timing": ends if status != "skipped" else [],
        "adapter_response": answer,
    }


@pytest.fixture
def shop_with_runs(shop: Shop) -> Shop:
    results = [
        result(
            MERGED, "success", 2.5, events=7, rejected=1, files=2, bytes=99, behind_seconds=60.0
        ),
        result("model.shop.orders_events", "success", 1.0, lag={"orders-0": 5, "orders-1": 0}),
        result("model.shop.orders", "error", 0.5),
        result("test.shop.unique_orders.ab12", "pass", 0.0, kept_since="2025-01-30T00:00:00"),
        result("model.shop.below", "skipped", 0.0),
    ]
    (shop.folder / "target/run_results.json").write_text(json.dumps({"results": results}))
    return shop


def test_feeds_and_runs(shop_with_runs: Shop, tmp_path: Path) -> None:
    shop = shop_with_runs
    shop.arrive(2, 1_200, ago(minutes=20))
    shop.note("orders_events")
    path = tmp_path / "new folder" / "m.prom"
    assert command.main(["metrics", "--file", str(path)]) == 0
    found = metrics(path)
    assert found["alluvium_newest_event_timestamp_seconds", MODEL] == ago(minutes=20).timestamp()
    assert found["alluvium_stream_looked_timestamp_seconds", MODEL] == ago(minutes=5).timestamp()
    assert found["alluvium_waiting_events", MODEL] == 1_200
    assert found["alluvium_waiting_since_timestamp_seconds", MODEL] == ago(minutes=20).timestamp()
    assert found["alluvium_slo_seconds", MODEL] == 900
    assert found["alluvium_late", MODEL] == 1
    assert found["alluvium_rejected_last_day", MODEL] == 3
    assert found["alluvium_held_back", MODEL] == 0
    merged = (("kind", "model"), ("model", "orders_wap"))
    expected = {"seconds": 2.5, "events": 7, "rejected": 1, "files": 2, "bytes": 99, "failed": 0}
    for name, value in {**expected, "behind_seconds": 60, "kept": 0}.items():
        assert found[f"alluvium_node_{name}", merged] == value
    assert found["alluvium_node_success_timestamp_seconds", merged] == 1738346340.5
    failed = (("kind", "model"), ("model", "orders"))
    assert found["alluvium_node_failed", failed] == 1
    assert ("alluvium_node_success_timestamp_seconds", failed) not in found
    kept = (("kind", "test"), ("model", "unique_orders.ab12"))
    assert found["alluvium_node_kept", kept] == 1
    lag = {key[1]: value for key, value in found.items() if key[0] == "alluvium_lag_offsets"}
    assert lag == {
        (("model", "orders_events"), ("partition", "orders-0")): 5,
        (("model", "orders_events"), ("partition", "orders-1")): 0,
    }
    # What was skipped did not run, and nothing is told of it.
    assert not any(("model", "below") in labels for _, labels in found)


def test_what_is_held_back(shop: Shop, tmp_path: Path) -> None:
    shop.merge(2, 1, ago(hours=1))
    shop.note("orders_wap", held=HELD)
    assert command.main(["metrics", "--file", str(tmp_path / "m")]) == 0
    found = metrics(tmp_path / "m")
    assert found["alluvium_held_back", MODEL] == 1
    # Nothing waits: there is no time since when.
    assert found["alluvium_waiting_events", MODEL] == 0
    assert ("alluvium_waiting_since_timestamp_seconds", MODEL) not in found


def test_mistakes(shop: Shop, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["metrics", "--file", str(tmp_path)]) == 2
    assert "cannot be written" in capsys.readouterr().err
    (shop.folder / "target/run_results.json").write_text("{")
    assert command.main(["metrics", "--file", str(tmp_path / "m")]) == 2
    said = capsys.readouterr().err
    assert "run_results.json cannot be read (JSONDecodeError" in said
    assert "accepted: as dbt writes it" in said
    assert not (tmp_path / "m").exists()
