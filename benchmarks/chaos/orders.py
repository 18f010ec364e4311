"""A feed of files to disturb, in a small dbt project: bronze, merge, compaction, tests, publish.

What was sent is kept in Python, and folded by DuckDB: what the tables must hold, without our code.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import yaml
from deltalake import DeltaTable, QueryBuilder
from pyarrow import fs

SCHEMA = "feeds"
KEYS = 400
POISON = -1
_ORDERS = """
select o.*, _batch_after, _batch_through
from {{ alluvium.new_events(ref('orders_events'), 'orders_wap') }}
lateral view inline(array(from_json(_value, 'id bigint, op string, v bigint, amount bigint'))) o
"""


class Event(NamedTuple):
    """Of a key: what its row becomes.

    Attributes:
        place: in its source.
        gone: whether it deletes.
        lacks: whether it leaves out the note.
    """

    key: int
    place: int
    gone: bool
    amount: int
    note: str | None = None
    lacks: bool = False


# Of a key: place, amount, note, and whether the note is unknown.
Rows = dict[int, tuple[int, int, str | None, bool]]


def write_project(
    root: Path, package: Path, target: dict[str, Any], *feeds: dict[str, str]
) -> None:
    """Write a dbt project of these feeds' files, and a profile with one target."""
    config = {
        "name": SCHEMA,
        "profile": "p",
        "flags": {"send_anonymous_usage_stats": False, "use_colors": False},
    }
    files = {
        "dbt_project.yml": yaml.safe_dump(config),
        "profiles.yml": yaml.safe_dump({"p": {"target": "t", "outputs": {"t": target}}}),
        "packages.yml": yaml.safe_dump({"packages": [{"local": str(package)}]}),
    }
    for feed in feeds:
        files.update(feed)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def feed(name: str, stream: dict[str, Any], merge: dict[str, Any], batch: str) -> dict[str, str]:
    """The files of a feed: `<name>_events`, `<name>_wap` and the published `name`.

    Args:
        stream: `meta.alluvium_stream` of its source.
        merge: `meta.alluvium_merge`.
        batch: the merged model's SQL.
    """
    meta = {"alluvium_merge": merge, "alluvium_layout": {"sort_by": ["id"], "fan_in": 2}}
    source = {"name": name, "config": {"meta": {"alluvium_stream": stream}}}
    checked = {
        "name": f"{name}_wap",
        "columns": [{"name": "id", "data_tests": ["unique", "not_null"]}],
    }
    return {
        f"models/{name}.yml": yaml.safe_dump(
            {"sources": [{"name": f"raw_{name}", "tables": [source]}], "models": [checked]}
        ),
        f"models/{name}_events.sql": "{{ config(materialized='streaming_table') }}"
        f" select * from {{{{ source('raw_{name}', '{name}') }}}}",
        f"models/{name}_wap.sql": "{{ config(materialized='incremental', unique_key='id',"
        f" incremental_strategy='merge', meta={meta},"
        f' post_hook="{{{{ alluvium.compact(this) }}}}") }}}}\n{batch}',
        f"models/{name}.sql": "{{ config(materialized='published') }}"
        f" select * from {{{{ ref('{name}_wap') }}}}",
    }


@dataclass
class Orders:
    """The feed of files: what was sent, and what came of it.

    Attributes:
        files, folder: where its files land.
        path: the same for Spark.
        table: opens a table of the project.
        sent: each event that was sent, in order.
        lines: each text that bronze must have once.
        states: what readers may see: the table of the last build, and behind each file since.
    """

    files: fs.FileSystem
    folder: str
    path: str
    table: Callable[[str], DeltaTable]
    random: Random = field(default_factory=Random)
    sent: list[Event] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    states: list[Rows] = field(default_factory=lambda: [{}])
    _landed: int = 0
    _place: int = 0

    @property
    def project(self) -> dict[str, str]:
        """Its files."""
        merge = {"order_by": "v", "delete_when": "op = 'd'"}
        return {
            **feed("orders", {"format": "json", "path": self.path}, merge, _ORDERS),
            "tests/no_poison.sql": "select * from {{ ref('orders_wap') }}"
            f" where amount = {POISON}",
        }

    def draw(self, lacking: float = 0.0) -> list[Event]:
        """Events around some keys, a few of them late, as many transactions as events.

        lacking: the share of those that leave out their note.
        """
        hot = self.random.randrange(KEYS)
        places = list(range(self._place + 1, self._place + 41))
        self._place = places[-1]
        for _ in range(3):
            one, other = self.random.randrange(40), self.random.randrange(40)
            places[one], places[other] = places[other], places[one]
        return [
            Event(
                int(self.random.gauss(hot, 12)) % KEYS,
                place,
                self.random.random() < 0.15,
                self.random.randrange(1_000_000),
                self.random.choice((f"note {place}", None)),
                self.random.random() < lacking,
            )
            for place in places
        ]

    def poison(self) -> Callable[[], None]:
        """Land a row that breaks a test; gives what mends it."""
        bad = self.draw()[0]._replace(gone=False, amount=POISON)
        self.land([bad])
        self.states.pop()

        def mend() -> None:
            self._place += 1
            self.land([bad._replace(place=self._place, amount=7)])

        return mend

    def land(self, events: list[Event]) -> None:
        """A file of events; they have no notes here."""
        events = [one._replace(note=None, lacks=False) for one in events]
        lines = [
            json.dumps({"id": one.key, "v": one.place, "op": "ud"[one.gone], "amount": one.amount})
            for one in events
        ]
        self.files.create_dir(self.folder)
        draft = f"{self.folder}/.{self._landed}.tmp"
        with self.files.open_output_stream(draft) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
        self.files.move(draft, f"{self.folder}/{self._landed}.json")
        self._landed += 1
        self.sent += events
        self.lines += lines
        self.states.append(fold(self.sent))

    def wrong(self) -> Counter[str]:
        """Rows that are lost, doubled and otherwise in tables, and events in bronze."""
        return wrong("orders", self.table, self.sent, self.lines)


def shown(table: DeltaTable) -> Rows | None:
    """What readers see; None where a file is not where the table says."""
    found = _rows(table)
    return None if found is None else dict(found)


def wrong(
    name: str, table: Callable[[str], DeltaTable], sent: list[Event], texts: list[str]
) -> Counter[str]:
    """What differs in the tables of a feed from the fold of what was sent.

    texts: each that bronze must have once.
    """
    found: Counter[str] = Counter()
    wanted = fold(sent)
    for one in (f"{name}_wap", name):
        rows = _rows(table(one))
        if rows is None:
            found["lost"] += max(1, len(wanted))
            continue
        got = dict(rows)
        found["doubled"] += len(rows) - len(got)
        found["lost"] += len(wanted.keys() - got.keys())
        found["wrong"] += sum(wanted.get(key) != row for key, row in got.items())
    bronze = query(table(f"{name}_events"), "select _value from t")
    there, wanted_texts = Counter(one["_value"] for one in bronze), Counter(texts)
    found["bronze_doubled"] += sum((there - wanted_texts).values())
    found["bronze_lost"] += sum((wanted_texts - there).values())
    return found


def _rows(table: DeltaTable) -> list[tuple[int, tuple[int, int, str | None, bool]]] | None:
    names = {one.name for one in table.schema().fields}
    more = ", note, _unavailable" if "note" in names else ""
    try:
        rows = query(table, f"select id, v, amount{more} from t {live_rows(table)}")
    except Exception as error:  # delta-rs has no class of its own for it
        if "Object at location" in str(error):
            return None
        raise
    return [
        (one["id"], (one["v"], one["amount"], one.get("note"), bool(one.get("_unavailable"))))
        for one in rows
    ]


def live_rows(table: DeltaTable) -> str:
    """The condition of a query that leaves out tombstones, if the table may have some."""
    names = {one.name for one in table.schema().fields}
    return "where not coalesce(_deleted, false)" if "_deleted" in names else ""


def query(table: DeltaTable, text: str) -> list[dict[str, Any]]:
    """The rows of a query over the table, which it names `t`, by delta-rs."""
    # By a query: it reads deletion vectors, which Arrow's reader refuses.
    read = QueryBuilder().register("t", table).execute(text).read_all()
    found: list[dict[str, Any]] = pa.table(read).to_pylist()
    return found


def fold(events: list[Event]) -> Rows:
    """The newest event of each key, but for those that delete.

    Its note is that of the newest one that has it, since the key was last deleted.
    """
    if not events:
        return {}
    with duckdb.connect() as duck:
        duck.execute(
            "create table e (id int, v bigint, gone boolean, amount bigint, note text,"
            " lacks boolean)"
        )
        duck.executemany("insert into e values (?, ?, ?, ?, ?, ?)", events)
        rows = duck.execute(
            """
            with lived as (
                select *, not gone and not lacks and v > coalesce(
                    max(v) filter (where gone) over (partition by id), -1) as tells
                from e
            )
            select id, max(v), arg_max(amount, v), arg_max_null(note, v) filter (where tells),
                not bool_or(tells)
            from lived group by id having not arg_max(gone, v)
            """
        )
        return {row[0]: row[1:] for row in rows.fetchall()}
