"""What asks for reuse, which tests passed, and what a table is made by."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.clients.agate_helper import table_from_data_flat

from alluvium.plan.reuse import Record, TableState
from dbt.adapters.alluvium import reuse
from dbt.adapters.alluvium.reuse import AskedTable
from dbt.adapters.alluvium.verbs import holding_back
from dbt.adapters.alluvium.verbs.reusing import Reusing

COLUMNS = ["failures", "should_warn", "should_error"]


def node(kind: str = "test", **meta: Any) -> Any:
    return SimpleNamespace(name="one", resource_type=kind, config=SimpleNamespace(meta=meta))


@pytest.mark.parametrize("meta", [{}, {"alluvium_reuse": True}, {"alluvium_reuse": False}])
def test_accepted(meta):
    assert list(reuse.mistakes([node(**meta)], {"alluvium_reuse": False})) == []


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (
            node(alluvium_reuse="yes"),
            'one: meta.alluvium_reuse: "yes" is not accepted; accepted: true, false',
        ),
        (
            node(alluvium_reuse=None),
            "one: meta.alluvium_reuse: null is not accepted; accepted: true, false",
        ),
        (
            node(alluvium_reus=True),
            "one: meta.alluvium_reus is not known on a test; accepted: alluvium_reuse,"
            " alluvium_tier; did you mean alluvium_reuse?",
        ),
        (
            node("snapshot", alluvium_reuse=True),
            "one: meta.alluvium_reuse is not known on a snapshot;"
            " accepted: on models, seeds and data tests",
        ),
        (
            node("seed", alluvium_reuse="yes"),
            'one: meta.alluvium_reuse: "yes" is not accepted; accepted: true, false',
        ),
    ],
)
def test_mistakes(one, said):
    assert list(reuse.mistakes([one], {})) == [said]


def test_a_var_that_is_not_a_boolean():
    assert list(reuse.mistakes([], {"alluvium_reuse": "no"})) == [
        'var alluvium_reuse: "no" is not accepted; accepted: true, false'
    ]


@pytest.mark.parametrize("flag", ["EMPTY", "SAMPLE"])
@pytest.mark.parametrize("kind", ["test", "seed", "model"])
def test_a_part_of_the_rows_is_not_noted(monkeypatch, flag, kind):
    monkeypatch.setattr(holding_back, "get_flags", lambda: SimpleNamespace(**{flag: "1 day"}))
    adapter: Any = SimpleNamespace()  # nothing of it is asked
    why = Reusing._why_not_noted(adapter, node(kind))
    assert why == f"--{flag.lower()} builds tables with a part of their rows"


def table(*row: Any, columns: list[str] | None = None) -> Any:
    names = columns or COLUMNS
    return table_from_data_flat([dict(zip(names, row, strict=True))], names)


def test_a_test_that_passed():
    assert reuse._passed(table(3, False, False)) == 3
    assert reuse._passed(table(0, False, False, columns=[one.upper() for one in COLUMNS])) == 0


@pytest.mark.parametrize(
    "found",
    [
        table(1, True, False),
        table(1, False, True),
        table(None, False, False),
        table("0", False, False),
        table(0.5, False, False),
        table(0, None, False),
        table(0, False, False, columns=["n", "should_warn", "should_error"]),
        table_from_data_flat([], COLUMNS),
    ],
)
def test_other_results(found):
    assert reuse._passed(found) is None


def test_names_of_tables():
    assert reuse._parts("`A`.`b`") == reuse._parts("spark_catalog.a.`B`") == ("a", "b")
    assert reuse._parts("`a.b`.`c`") != reuse._parts("`a`.`b.c`")


def model(**changed: Any) -> Any:
    """A table, as dbt has one; changed: some of its values."""
    values = {
        "unique_id": "model.shop.t",
        "alias": "t",
        "schema": "s",
        "compiled_code": "select 1",
        "description": "Its rows",
        "config": {"materialized": "table", "tblproperties": {"x": "y"}, "tags": ["a"]},
        "columns": {"id": {"name": "id", "description": "Its number"}},
        "constraints": [],
        "contract": {"enforced": True},
        "created_at": 1.5,
        "tags": ["a"],
        **changed,
    }
    code = values["compiled_code"]
    return SimpleNamespace(compiled_code=code, to_dict=lambda: dict(values))


def differs(before: dict[str, str], now: dict[str, str]) -> set[str]:
    return {name for name in before | now if before.get(name) != now.get(name)}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"compiled_code": "select 2"}, {"its SQL"}),
        ({"description": "Other rows"}, {"its config"}),
        ({"alias": "u"}, {"its config"}),
        ({"schema": "u"}, {"its config"}),
        ({"unique_id": "model.shop.u"}, {"its config"}),
        ({"columns": {"id": {"name": "id", "description": "x"}}}, {"its config"}),
        ({"constraints": [{"type": "check"}]}, {"its config"}),
        ({"contract": {"enforced": False}}, {"its config"}),
        ({"config": {"materialized": "table", "tblproperties": {"x": "z"}}}, {"its config"}),
        ({"config": {"materialized": "table"}}, {"its config"}),
        # What dbt may add one day is not known to be of no matter.
        ({"something": "new"}, {"its config"}),
        # Of no matter.
        (
            {
                "config": {"materialized": "table", "tblproperties": {"x": "y"}, "group": "b"},
                "created_at": 2.5,
                "tags": [],
                "raw_code": "{{ x }}",
                "depends_on": {"macros": []},
                "docs": {"show": False},
            },
            set(),
        ),
    ],
)
def test_what_a_table_is_made_by(changed, said):
    before, now = reuse.of_table(model(), None), reuse.of_table(model(**changed), None)
    assert differs(before, now) == said


def test_a_seed_is_known_by_its_bytes(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_bytes(b"id\n1\n")
    before = reuse.of_table(model(), file)
    assert "its SQL" not in before
    # As long as it was, and as old: dbt's own checksum of a large one is of its path.
    file.write_bytes(b"id\n2\n")
    assert differs(before, reuse.of_table(model(), file)) == {"its file"}


def test_any_macro_counts():
    macros = {"macro.dbt.a": SimpleNamespace(macro_sql="x")}
    before = reuse.of_macros(macros)
    assert before == reuse.of_macros(dict(macros))
    assert before != reuse.of_macros({"macro.dbt.a": SimpleNamespace(macro_sql="y")})
    assert before != reuse.of_macros({**macros, "macro.shop.b": SimpleNamespace(macro_sql="")})


def test_flags_of_commands_are_of_no_matter_and_others_are():
    flags = {"WHICH": "run", "THREADS": 4, "REQUIRE_RESOURCE_NAMES_WITHOUT_SPACES": True}
    before = reuse.of_flags(flags)
    assert before == reuse.of_flags({**flags, "WHICH": "build", "THREADS": 1, "SHOW": False})
    assert before != reuse.of_flags({**flags, "REQUIRE_RESOURCE_NAMES_WITHOUT_SPACES": False})
    assert before != reuse.of_flags({**flags, "WHAT_DBT_ADDS": True})


@pytest.mark.parametrize(
    ("materialized", "language", "is_table"),
    [
        ("table", "sql", True),
        ("seed", "sql", True),
        ("table", "python", False),
        ("incremental", "sql", False),
        ("view", "sql", False),
        ("published", "sql", False),
        ("streaming_table", "sql", False),
        ("snapshot", "sql", False),
    ],
)
def test_what_may_be_kept(materialized, language, is_table):
    config = SimpleNamespace(materialized=materialized)
    assert reuse.is_table(SimpleNamespace(config=config, language=language)) is is_table


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a session says, and the log of a table; to be changed."""
    said: dict[str, Any] = {
        "settings": {"spark.sql.ansi.enabled": "true"},
        "spark": "4.2.0",
        "delta-spark": "4.4.0",
        "agate": "1.9",
        "views": {"w": "a view"},
        "moved": None,
        "written": None,
    }
    monkeypatch.setattr(reuse.reads, "settings", lambda _: said["settings"])
    monkeypatch.setattr(reuse.reads, "noted", lambda *_: said["noted"])
    monkeypatch.setattr(reuse.reads, "view_now", lambda _, name: said["views"].get(name))
    monkeypatch.setattr(reuse.reads, "moved", lambda *_: (said["moved"], TableState("i", 1, "c")))
    monkeypatch.setattr(reuse.reads, "note", lambda *one: said.update(note=one[2]))
    monkeypatch.setattr(reuse.metadata, "version", lambda name: said[name])
    monkeypatch.setattr(reuse.own_commit, "begin", lambda _: 0.0)
    monkeypatch.setattr(reuse.own_commit, "version", lambda _: said["written"])
    return said


def handle(said: dict[str, Any]) -> Any:
    return SimpleNamespace(session=SimpleNamespace(version=said["spark"]), frame=None)


def asked(made_by: dict[str, str], why_not: str | None = None, is_noted: bool = True) -> AskedTable:
    return AskedTable("seed.shop.t", why_not, is_noted, "s.t", lambda: dict(made_by), is_seed=True)


MADE_BY = {"its file": "x", "its config": "y", "a macro": "z", "a flag of dbt": "f"}
VERSIONS = "a version of Alluvium, dbt, Spark, Delta or Java"


def built(said: dict[str, Any]) -> None:
    """Build it once; its log has the note then, of a table and a view too."""
    one = asked(MADE_BY)
    said["noted"] = "nothing is noted"
    assert one.look(handle(said), is_there=True) == "nothing is noted"
    assert one.note(handle(said)) is None
    note: Record = said["note"]
    tables, views = {"a": TableState("i", 1, "c")}, {"w": "a view"}
    said["noted"] = Record(note.parts, tables, views, 0, note.at)


def test_a_table_is_kept(session):
    built(session)
    found = asked(MADE_BY).look(handle(session), is_there=True)
    assert (found.rows_affected, found.kept_since) == (0, session["noted"].at)


@pytest.mark.parametrize("part", MADE_BY)
def test_what_it_is_made_by_is_another(session, part):
    built(session)
    found = asked(MADE_BY | {part: "?"}).look(handle(session), is_there=True)
    assert found == f"{part} is another"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"settings": {"spark.sql.ansi.enabled": "false"}}, "a Spark setting is another"),
        ({"spark": "4.2.1"}, f"{VERSIONS} is another"),
        ({"delta-spark": "4.4.1"}, f"{VERSIONS} is another"),
        ({"agate": "2"}, f"{VERSIONS} is another"),
        ({"views": {"w": "another"}}, "the view w is another"),
        ({"views": {}}, "the view w is another"),
        ({"moved": "a has changed since version 1"}, "a has changed since version 1"),
    ],
)
def test_what_it_hangs_on_is_another(session, changed, said):
    built(session)
    session.update(changed)
    assert asked(MADE_BY).look(handle(session), is_there=True) == said


@pytest.mark.parametrize("name", ["__version__", "dbt_version"])
def test_versions_of_ours_and_of_dbt(session, monkeypatch, name):
    built(session)
    monkeypatch.setattr(reuse, name, "?")
    assert asked(MADE_BY).look(handle(session), is_there=True) == f"{VERSIONS} is another"


def test_a_table_that_is_not_there(session):
    built(session)
    assert asked(MADE_BY).look(handle(session), is_there=False) == "it is not there"


def test_a_flag_says_why_not(session):
    built(session)
    assert asked(MADE_BY, "--full-refresh").look(handle(session), True) == "--full-refresh"


def test_what_is_not_noted(session):
    one = asked(MADE_BY, "--empty", is_noted=False)
    one.look(handle(session), is_there=True)
    assert one.note(handle(session)) is None
    assert "note" not in session


def test_a_statement_that_changes_its_session_is_not_noted(session):
    one = asked(MADE_BY)
    session["noted"] = "nothing is noted"
    one.look(handle(session), is_there=True)
    session["settings"] = {}
    assert one.note(handle(session)) == "its own statement changed its session"
    assert "note" not in session


def test_a_model_is_one_statement(session):
    one = AskedTable("model.shop.t", None, True, "s.t", lambda: dict(MADE_BY), is_seed=False)
    session["noted"] = "nothing is noted"
    one.look(handle(session), is_there=True)
    assert one.note(handle(session)) == "it is not built by one statement"


def test_what_hooks_did_is_not_of_the_build(session):
    one = asked(MADE_BY)
    session["written"] = 7
    one.saw(handle(session), "insert into s.t values (1)")
    session["noted"] = "nothing is noted"
    one.look(handle(session), is_there=True)
    assert (one._made, one._statements) == (set(), [])
    session["written"] = 8
    one.saw(handle(session))
    assert one._made == {8}
