"""The command on a project whose manifest, notes and logs are written by hand."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import jsonschema
import pytest
from support import delta_log
from support.delta_log import ID, add, commit, info, metadata, protocol, remove, txn
from support.shop import HELD, MERGED, NOW, Shop, ago, millis

from alluvium.command import main as command
from alluvium.plan.status import notes

SCHEMA = Path(__file__).parents[3] / "docs" / "status.schema.json"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = command.main(["status", *arguments])
    said = capsys.readouterr()
    return status, said.out + said.err


@pytest.mark.proves("status", on="embedded")
def test_all_is_well(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.note("orders_events")
    assert run(capsys) == (
        0,
        "orders: newest arrival 3 hours ago (slo 15 minutes), the stream looked 5 minutes ago,"
        " 3 rejected in the last day, readers see version 1 of 2 hours ago\n",
    )


def test_events_wait(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.arrive(2, 1_200, ago(minutes=12))
    shop.arrive(3, 4, ago(minutes=4))
    status, said = run(capsys)
    assert status == 0
    assert said.startswith(
        "orders: newest arrival 4 minutes ago (slo 15 minutes), 1,204 events of orders_events wait,"
    )
    shop.arrive(4, 1, ago(minutes=20))
    status, said = run(capsys)
    assert status == 1
    assert "newest arrival 20 minutes ago (slo 15 minutes), late, 1,205 events" in said
    assert "events of orders_events wait, the oldest for 20 minutes" in said
    # What is left out for good waits for nothing; a file of a batch is not the batch.
    skips = [txn(f"alluvium/skip/model.shop.orders_wap/{one}", 1) for one in ("4", "2", "3/a.json")]
    commit(shop.place("orders_wap"), 2, info(), *skips)
    status, said = run(capsys)
    assert status == 0
    assert "newest arrival 20 minutes ago (slo 15 minutes), 4 events of orders_events wait" in said


def test_an_audit_holds_back(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.merge(2, 1, ago(hours=1))
    assert "of 2 hours ago, version 2 is there\n" in run(capsys)[1]
    shop.note("orders_wap", held=HELD)
    status, said = run(capsys)
    assert status == 1
    assert "readers see version 1 of 2 hours ago: 2 tests of version 2 failed since\n" in said
    assert said.endswith(
        "  orders_wap: 2 of 3 tests of version 2 failed: kept (40 rows, readers see 100), not_null"
        " (2 rows); what changed:\n"
        "    dbt run-operation alluvium.diff --args '{model: orders_wap, from: 1}'\n"
        "  orders_wap: what undoing it would change:\n"
        "    dbt run-operation alluvium.restore --args"
        " '{model: orders_wap, version: 1, dry_run: true}'\n"
    )
    shop.publish(2, 2, ago(minutes=1))
    assert run(capsys)[0] == 0


def test_a_checkout_holds(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.merge(2, 1, ago(hours=1))
    shop.publish(2, 1, ago(minutes=30), hold=1)
    status, said = run(capsys)
    assert status == 0
    assert "readers see version 1 of 30 minutes ago, where a checkout holds them\n" in said
    assert "alluvium.checkout --args '{model: orders, version: 1, hold: false}'" in said


def test_what_is_due(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    gone = remove("merge-1", deletionTimestamp=millis(ago(days=8)), size=2**21)
    kept = remove("merge-1b", deletionTimestamp=millis(ago(days=6)))
    commit(shop.place("orders_wap"), 2, info("DELETE", millis(ago(days=6))), gone, kept)
    # What puts its vector into a file removes it as if long ago, and again as it was.
    moved = info("Deletion Vector Tombstones", millis(ago(hours=2)))
    commit(shop.place("orders_wap"), 3, moved, remove("merge-1b", deletionTimestamp=0), kept)
    shop.merge(4, 1, ago(hours=1), deletes=4, key_count=9)
    said = run(capsys)[1]
    assert (
        "orders_wap: up to 2.0 MiB of 1 file went over 7 days ago, and no VACUUM took them since\n"
        "    dbt run-operation alluvium.vacuum --args '{model: orders_wap, dry_run: false}'\n"
    ) in said
    assert "deletes" not in said
    # What another table needs no vacuum takes: of its newest version, and within its retention.
    copy = shop.pin("clone", "orders_copy", "merge-1")
    assert "VACUUM" not in run(capsys)[1]
    went = millis(ago(hours=1))
    other = remove(f"file:{shop.place('orders_wap')}/merge-1", deletionTimestamp=went)
    commit(copy, 1, info("DELETE", millis(NOW)), other)
    assert "VACUUM" not in run(capsys)[1]
    commit(copy, 2, metadata(properties={"delta.deletedFileRetentionDuration": "0 hours"}))
    assert "2.0 MiB of 1 file" in run(capsys)[1]
    commit(shop.place("orders_wap"), 5, info("VACUUM END", millis(ago(minutes=1))))
    assert "VACUUM" not in run(capsys)[1]
    assert "due" not in run(capsys)[1]


def test_tombstones_to_purge(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that a purge would take; of a log that was cleaned all that it tells."""
    shop.merge(2, 1, ago(days=31), deletes=4, key_count=9)
    shop.merge(3, 1, ago(hours=1), deletes=2, key_count=9)
    assert (
        "  orders_wap: 4 deletes merged over 30 days ago, since the last purge;" in run(capsys)[1]
    )
    place = shop.place("orders_wap")
    heads = [protocol(), metadata(), txn(f"alluvium/{MERGED}/{ID}", 1)]
    delta_log.checkpoint(place, 2, heads)
    for version in range(3):
        (place / "_delta_log" / f"{version:020}.json").unlink()
    said = "  orders_wap: 2 deletes merged in the 60 minutes that the log tells, without a purge;"
    assert said in run(capsys)[1]
    purged = info("DELETE", millis(NOW), userMetadata=json.dumps({"alluvium_purge": {}}))
    commit(place, 4, purged)
    assert "due" not in run(capsys)[1]


def test_buckets_are_to_be_compacted(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.nodes[MERGED]["config"]["meta"]["alluvium_layout"] = {
        "sort_by": "id",
        "fan_in": 2,
        "target_rows": 1000,
    }
    shop.save()
    files = [add(f"more-{number}") for number in range(4)]
    commit(shop.place("orders_wap"), 2, info(at=millis(ago(hours=1))), *files)
    said = run(capsys)[1]
    assert "are to be compacted\n    dbt run-operation alluvium.compact" in said
    said = run(capsys, "orders_wap")[1]
    assert "  buckets that are dirty: 1\n" in said
    assert "  files of below 1 MiB: 5, 0.0 KiB\n" in said
    assert "  HEAD of orders: version 1\n" in said
    assert "    2  2025-01-31 17:00:00 UTC  WRITE  +12 -0 rows\n" in said


def test_what_points_to_versions(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.merge(2, 1, ago(hours=1))
    place, branch = shop.place("orders_wap"), shop.home / "warehouse" / "fix.db" / "orders_wap"
    ref = json.dumps({"alluvium_ref": {"kind": "tag", "name": "accepted", "version": 1}})
    commit(place / "_alluvium" / "tags" / "accepted", 0, info("CLONE", userMetadata=ref))
    commit(branch, 0, info("CLONE"), protocol(), metadata(), txn(f"alluvium/branch/{ID}", 1))
    register = place / "_alluvium" / "dependents"
    register.mkdir()
    for name, where in (("fix", branch), ("gone", shop.home / "gone")):
        entry = {"kind": "branch", "name": name, "location": f"file:{where}", "noted_at": None}
        (register / f"{name}.json").write_text(json.dumps(entry))
    (register / "damaged.json").write_text("{")
    said = run(capsys, "orders_wap")[1]
    assert "  HEAD of orders, branch fix, tag accepted: version 1\n" in said
    assert (
        "    1 (HEAD of orders, branch fix, tag accepted)  2025-01-31 16:00:00 UTC  MERGE" in said
    )
    assert (
        "  orders_wap: it is 1 version ahead of branch fix; what a merge would bring:\n"
        "    dbt run-operation alluvium.merge_branch --args"
        " '{name: fix, models: [orders_wap], dry_run: true}'\n"
    ) in said


def test_a_home_in_another_place(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """What is noted begins in it, and a table may lie elsewhere there."""
    for name in ("orders_events", "orders_wap", "orders"):
        shop.note(name)
    before = run(capsys)
    shop.place("orders").rename(shop.home / "own")
    path = shop.home / notes.FOLDER / notes.file_name("shop.orders")
    path.write_text(path.read_text().replace("warehouse/shop.db/orders", "own"))
    shop.home.rename(shop.folder / "moved")
    assert run(capsys)[0] == 2
    assert run(capsys, "--home", "moved") == before


def test_what_was_not_built(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.node("logs", "streaming_table")
    status, said = run(capsys)
    assert status == 0
    assert said.startswith("logs: not built from this home\n")


def test_what_cannot_be_read(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.place("orders_wap").joinpath("_delta_log", f"{0:020}.json").unlink()
    shop.note("orders", "error")
    status, said = run(capsys)
    assert status == 1
    assert said.startswith("orders: orders_wap: its log does not have version 0, ")
    assert "the last run failed 5 minutes ago" in said
    shop.nodes["model.shop.orders"]["config"]["location_root"] = "gs://bucket/x"
    shop.save()
    (shop.home / notes.FOLDER / notes.file_name("shop.orders")).unlink()
    assert (
        "gs://bucket/x/orders is not read: only local paths, mounted disks and s3a:// are read"
        in run(capsys)[1]
    )


def test_history_that_is_damaged(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """Before a checkpoint: the files of the table are known."""
    place = shop.place("orders_wap")
    (place / "_delta_log" / f"{1:020}.json").write_text('{"commitInfo":\n{}')
    delta_log.checkpoint(place, 1, [protocol(), metadata(), txn(f"alluvium/{MERGED}/{ID}", 1)])
    status, said = run(capsys, "orders_wap")
    assert status == 1
    assert "  a commit of it cannot be read: the commit of version 1 is not whole" in said
    assert "orders: a log of it cannot be read: the commit of version 1 is not whole" in said
    assert "alluvium.fsck --args '{models: [orders_wap]}'" in said


def test_a_file_that_is_newer(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    models = shop.folder / "models"
    models.mkdir()
    (models / "new.yml").write_text("")
    os.utime(models / "new.yml", (time.time() + 60,) * 2)
    assert run(capsys)[1].startswith("models/new.yml is newer than the last parse:")


def test_as_json(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.merge(2, 1, ago(hours=1))
    shop.arrive(2, 1_200, ago(minutes=12))
    shop.note("orders_wap", held=HELD)
    status, said = run(capsys, "--json")
    found = json.loads(said)
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    (feed,) = found["feeds"]
    assert status == 1
    assert feed["state"] == "wrong"
    assert feed["waiting"]["events"] == 1_200
    assert feed["readers"]["since"] == "2025-01-31T16:00:00+00:00"
    assert feed["held_back"]["failed"]["not_null"] == "2 rows"
    assert [one["model"] for one in found["due"]] == ["orders_wap", "orders_wap"]
    assert found["model"] is None


def test_one_model_as_json(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.nodes[MERGED]["config"]["meta"]["alluvium_layout"] = {"sort_by": "id"}
    shop.save()
    shop.merge(2, 1, ago(hours=1), events=7, files_kept=1, files_total=2)
    message = info("WRITE", millis(ago(minutes=9)), userMetadata="by hand")
    commit(shop.place("orders_wap"), 3, message, remove("merge-1"), add("moved", dataChange=False))
    lines = run(capsys, "orders_wap")[1].splitlines()
    found = json.loads(run(capsys, "orders_wap", "--json")[1])
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    model = found["model"]
    assert [(one["version"], one["files_kept"]) for one in model["batches"]] == [(1, None), (2, 1)]
    assert model["batches"][1]["events"] == 7
    assert model["writes"] == {"commits": 4, "written": 20, "rewritten": 10, "amplification": 1.5}
    assert model["sizes"] == [{"name": "below 1 MiB", "files": 2, "bytes": 20}]
    assert model["buckets"]["states"] == {"dirty": 1}
    assert (model["buckets"]["unsorted"], model["rows"], model["older_versions"]) == (2, 6, 0)
    assert model["pointers"] == [{"version": 1, "names": ["HEAD of orders"]}]
    told = [one["line"] for one in model["commits"]]
    assert told == [
        line[4:] for line in lines if line.startswith(tuple(f"    {n}" for n in "0123"))
    ]
    assert "".join(model["commits"][0]["message"]).strip() == "by hand"
    shop.place("orders_wap").rename(shop.home / "away")
    found = json.loads(run(capsys, "orders_wap", "--json")[1])
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    assert found["model"]["problems"] == ["not built from this home"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--project-dir", "none"], "there is no none/target/manifest.json; accepted: "),
        (["--home", "none"], "there is no home none; accepted: "),
        (["ordrs"], "there is no model 'ordrs' with a Delta table; accepted: orders, orders_"),
    ],
)
def test_it_could_not_look(
    shop: Shop, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    status, printed = run(capsys, *arguments)
    assert status == 2
    assert printed.startswith(f"alluvium: {said}")
    assert printed.count("\n") == 1


def test_it_writes_nothing(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    def there() -> dict[Path, int]:
        return {one: one.stat().st_mtime_ns for one in shop.folder.rglob("*")}

    before = there()
    run(capsys)
    run(capsys, "orders_wap")
    assert there() == before
