"""Lines of statements, and where they are written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.alluvium.places import place, raw_line

RAW = """{{ config(materialized='table') }}
{% set names = ['a', 'b'] %}
select
    id,
    {% for name in names %}
    {{ name }} as new_{{ name }},
    {% endfor %}
    id / v as n
from {{ ref('ok') }}
where id > 0"""
COMPILED = """

select
    id,
_
    a as new_a,
_
    b as new_b,
_
    id / v as n
from er.ok
where id > 0""".replace("_\n", "    \n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("select", 2),
        ("    id,", 3),
        ("    a as new_a,", 5),
        ("    b as new_b,", 5),
        ("    id / v as n", 7),
        ("from er.ok", 8),
        ("where id > 0", 9),
    ],
)
def test_a_rendered_line_is_found_in_what_was_written(text: str, line: int) -> None:
    assert raw_line(RAW, COMPILED, COMPILED.split("\n").index(text)) == line


def test_what_is_not_sure_is_not_said() -> None:
    two = "{% if x %}\nselect nope\n{% else %}\nselect nope\n{% endif %}"
    assert raw_line(two, "\nselect nope\n", 1) is None
    # A macro wrote these lines.
    assert raw_line("select 1\nfrom {{ f() }}", "select 1\nfrom (\n  select nope\n)", 2) is None


def node(**more: Any) -> SimpleNamespace:
    given = {
        "raw_code": RAW,
        "compiled_code": COMPILED,
        "original_file_path": "models/m.sql",
        "compiled_path": "target/compiled/p/models/m.sql",
        "config": SimpleNamespace(pre_hook=[], post_hook=[]),
    }
    return SimpleNamespace(**{**given, **more})


STATEMENT = f"/* comment */\ncreate or replace table m\nas\n{COMPILED}\n"
AT = STATEMENT.split("\n").index("    id / v as n") + 1


def test_the_file_that_the_user_has(tmp_path: Path) -> None:
    path = tmp_path / "models/m.sql"
    path.parent.mkdir()
    path.write_text(f"\n\n{RAW}\n")  # dbt strips what is around
    assert place(node(), STATEMENT, AT, tmp_path) == "models/m.sql:10: id / v as n"
    last = STATEMENT.rstrip().count("\n") + 1
    assert place(node(), STATEMENT, last, tmp_path) == "models/m.sql:12: where id > 0"
    # Of what dbt put around it, the statement.
    about = place(node(), STATEMENT, 2, tmp_path)
    assert about == "line 2 of the statement: create or replace table m"
    assert place(None, STATEMENT, 2, tmp_path) == about
    assert place(node(), STATEMENT, None, tmp_path) == ""
    assert place(node(), STATEMENT, 99, tmp_path) == ""


def test_else_the_compiled_file(tmp_path: Path) -> None:
    # The file is not what dbt read.
    assert place(node(), STATEMENT, AT, tmp_path) == (
        "target/compiled/p/models/m.sql:10: id / v as n"
    )


def test_a_snapshot_is_a_part_of_its_file(tmp_path: Path) -> None:
    raw = "\nselect id,\n  nope from {{ ref('ok') }}"
    (tmp_path / "s.sql").write_text("{% snapshot s %}" + raw + "{% endsnapshot %}")
    one = node(raw_code=raw, compiled_code=raw.replace("{{ ref('ok') }}", "ok"))
    one.original_file_path = "s.sql"
    at = place(one, "create view x as select id,\n  nope from ok", 2, tmp_path)
    assert at == "s.sql:3: nope from {{ ref('ok') }}"


@pytest.mark.parametrize("line", [2, None])
def test_a_hook_is_named(tmp_path: Path, line: int | None) -> None:
    hooks = [SimpleNamespace(sql="optimize {{ this }}"), SimpleNamespace(sql="delete from {{ x }}")]
    one = node(config=SimpleNamespace(pre_hook=[], post_hook=hooks), patch_path="p://models/m.yml")
    (tmp_path / "models").mkdir()
    (tmp_path / "models/m.sql").write_text("select 1")
    (tmp_path / "models/m.yml").write_text(
        "models:\n  - name: m\n    post_hook: delete from {{ x }}"
    )
    at = place(one, "/* dbt */\ndelete from a.b", line, tmp_path)
    assert at == "post-hook in models/m.yml:3: delete from {{ x }}"


def test_a_hook_that_is_written_twice_has_no_line(tmp_path: Path) -> None:
    one = node(config=SimpleNamespace(pre_hook=[SimpleNamespace(sql="selec 1")], post_hook=[]))
    (tmp_path / "dbt_project.yml").write_text("a: selec 1\nb: selec 1\n")
    at = place(one, "selec 1", 1, tmp_path)
    assert at == "pre-hook in models/m.sql: selec 1"


def test_a_hook_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text("on-run-end: 'select ''x'' from {{ var(1) }}'\n")
    raw, compiled = "select 'x' from {{ var(1) }}", "select 'x' from nope"
    one = node(raw_code=raw, compiled_code=compiled, original_file_path="./dbt_project.yml")
    assert place(one, compiled, 1, tmp_path) == f"dbt_project.yml:1: {raw}"
