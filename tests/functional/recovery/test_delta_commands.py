"""What a DBA types on the tables of a project: each cell of docs/delta-commands.md is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from functional.recovery.shop_of_a_dba import BATCH, KINDS, Rows, Shop, read
from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PAGE = Path(__file__).parents[3] / "docs/delta-commands.md"


def same(rows: Rows) -> Rows:
    return rows


@dataclass(frozen=True)
class Command:
    """What is typed.

    Attributes:
        does: SQL on `{t}`, a table of the kind `{k}`, and its version `{v}`; or a call of delta-rs.
        change: what it makes of the rows.
        loses: whether the rows are of an earlier version, so that batches are passed over.
        days: how old the tables are.
        alone: whether it is tried on each table for itself, as it may harm or stop others.
    """

    does: str | Callable[[DeltaTable], object]
    change: Callable[[Rows], Rows] = field(default=same)
    loses: bool = False
    days: int = 0
    alone: bool = False

    def run(self, shop: Shop, kind: str) -> None:
        if callable(self.does):
            self.does(DeltaTable(shop.folders[kind]))
            shop.forget()
        else:
            table, version = shop.tables[kind], shop.earlier[kind]
            shop.spark.sql(self.does.format(t=table, v=version, k=kind)).collect()


def _without(rows: Rows, key: int) -> Rows:
    return {one: name for one, name in rows.items() if one != key}


# Past each retention: a week, and thirty days of a published table.
OLD = 40
NEW = "(100L, 'mine', false)"
COMMANDS = {
    "describe history": Command("describe history {t}"),
    "describe detail": Command("describe detail {t}"),
    "show tblproperties": Command("show tblproperties {t}"),
    "show columns": Command("show columns in {t}"),
    "show create table": Command("show create table {t}"),
    "show partitions": Command("show partitions {t}"),
    "analyze table": Command("analyze table {t} compute statistics"),
    "convert to delta": Command("convert to delta {t}"),
    "vacuum dry run": Command("vacuum {t} dry run", days=OLD, alone=True),
    "vacuum": Command("vacuum {t}", days=OLD, alone=True),
    "vacuum lite": Command("vacuum {t} lite", days=OLD, alone=True),
    "optimize": Command("optimize {t}"),
    "optimize zorder by": Command("optimize {t} zorder by (id)"),
    "reorg apply purge": Command("reorg table {t} apply (purge)"),
    "restore": Command("restore table {t} to version as of {v}", loses=True),
    "create table shallow clone": Command("create table dba.of_{k} shallow clone {t}"),
    "create or replace table shallow clone": Command(
        "create or replace table {t} shallow clone dba.copy"
    ),
    "alter table set tblproperties": Command(
        "alter table {t} set tblproperties ('delta.logRetentionDuration' = 'interval 60 days')"
    ),
    "alter table unset tblproperties": Command(
        "alter table {t} unset tblproperties if exists ('delta.logRetentionDuration')"
    ),
    "alter table to column mapping": Command(
        "alter table {t} set tblproperties ('delta.columnMapping.mode' = 'name')", alone=True
    ),
    "alter table add columns": Command("alter table {t} add columns (note string)"),
    "alter table rename to": Command("alter table {t} rename to {k}_was", alone=True),
    "alter table rename column": Command("alter table {t} rename column name to label"),
    "alter table drop column": Command("alter table {t} drop column name"),
    "insert": Command(f"insert into {{t}} values {NEW}", lambda rows: rows | {100: "mine"}),
    "update": Command("update {t} set name = 'mine' where id = 7", lambda rows: rows | {7: "mine"}),
    "delete": Command("delete from {t} where id = 7", lambda rows: _without(rows, 7)),
    "merge": Command(
        "merge into {t} t using (select 7L as id, 'mine' as name) s on t.id = s.id"
        " when matched then update set name = s.name",
        lambda rows: rows | {7: "mine"},
    ),
    "truncate table": Command("truncate table {t}", lambda rows: {}),
    "delta-rs vacuum": Command(lambda table: table.vacuum(dry_run=False), days=OLD, alone=True),
    "delta-rs vacuum full": Command(
        lambda table: table.vacuum(dry_run=False, full=True), days=OLD, alone=True
    ),
    "delta-rs optimize compact": Command(lambda table: table.optimize.compact()),
    "delta-rs optimize z_order": Command(lambda table: table.optimize.z_order(["id"])),
}


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
    return Shop(spark, tmp_path_factory.mktemp("shop"))


def page() -> dict[str, list[str]]:
    """By command what the page says of each kind, and why."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {name: others for name, *others in cells if name in COMMANDS}


def test_the_page_has_each_command() -> None:
    assert page().keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(shop: Shop, name: str) -> None:
    *said, why = page()[name]
    found, refusals = outcomes(shop, COMMANDS[name])
    assert found == dict(zip(KINDS, said, strict=True)), refusals
    reasons = re.findall(r"`([^`]+)`", why)
    assert all(any(one in text for one in reasons) for text in refusals.values()), refusals


def outcomes(shop: Shop, command: Command) -> tuple[dict[str, str], dict[str, str]]:
    """By kind what a command does there, and what the refusals say.

    It is typed on all tables, and then builds go on.
    """
    found, refusals = dict[str, str](), dict[str, str]()
    for kinds in [[kind] for kind in KINDS] if command.alone else [KINDS]:
        shop.put_back(command.days)
        first, shows = shop.files(), dict(shop.rows)
        columns = {kind: shop.columns(kind) for kind in KINDS}
        for kind in kinds:
            before, rows = shop.files(), shows[kind]
            if command.loses:
                rows = read(shop.folders[kind], shop.earlier[kind])
            try:
                command.run(shop, kind)
            except Exception as error:
                found[kind], refusals[kind] = "refused", str(error)
                assert shop.files() == before
                continue
            assert not isinstance(rows, str)
            shows[kind] = command.change(rows)
            seen = shop.seen()
            harmed = [one for one in KINDS if isinstance(seen[one], str)]
            assert {**seen, **dict.fromkeys(harmed)} == {**shows, **dict.fromkeys(harmed)}
            found[kind] = f"breaks {', '.join(harmed)}" if harmed else "yes"
            if harmed:
                damaged = {"tag" if "tag" in one else one for one in shop.fsck().damaged}
                # In a folder that is elsewhere are its tags, too.
                unseen = set() if shop.folders["merged"].exists() else {"tag"}
                assert damaged | unseen == set(harmed)
            else:
                assert shop.by_spark(kind) == shows[kind]
        if shop.files() != first and "breaks" not in "".join(found[one] for one in kinds):
            told = _going_on(shop, command, kinds, shows, columns["published"])
            found |= {kind: text for kind, text in told.items() if found[kind] != "refused"}
    return found, refusals


def _going_on(
    shop: Shop,
    command: Command,
    kinds: Sequence[str],
    shows: dict[str, Any],
    columns: list[str],
) -> dict[str, str]:
    """What is to be said otherwise of the outcomes, once builds have gone on."""
    told = {}
    if shows["published"] != shop.rows["published"] or shop.columns("published") != columns:
        told["published"] = "until the next publish"
    try:
        shop.build(BATCH)
    except ValueError as error:
        if "cannot be published: its property " not in str(error):
            raise
        return dict.fromkeys(kinds, "stops publishes")
    for kind in ("merged", "branch"):
        shows[kind] = _without(shows[kind] | BATCH, 9)
        if command.loses and kind in kinds:
            told[kind] = "loses events"
    shows["published"] = shows["merged"]
    assert shop.columns("published") == shop.columns("merged")
    assert shop.seen() == shows
    assert all(shop.by_spark(kind) == shows[kind] for kind in ("merged", "published", "branch"))
    report = shop.fsck()
    assert report.damaged == [], report.lines()
    return told
