"""`alluvium.prune` in models: the same rows as the plain query, from fewer files."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from functional.runner import Project
from support.tagged import files_read, tag

pytestmark = pytest.mark.spark

FILES = {
    "models/edits.sql": """
        {{ config(materialized='incremental', file_format='delta', incremental_strategy='append') }}
        {%- set group = 'alpha reader writer' if is_incremental() else 'compactor reader zeta' %}
        select id as n, id, '{{ group }}' as grouped,
            split('{{ group }}', ' ')[int(id % 3)] as service,
            if(id = 4, null, int(id * 10)) as status, 'it''s' as note from range(6)
        {%- if is_incremental() %} union all select 9, 9, '', 'alpha', 5, 'x' where false{% endif %}
    """,
    "models/wanted.sql": """
        {{ config(materialized='table') }} select 'writer' as service, 1 as other
    """,
    "models/by_columns.sql": """
        select * from {{ alluvium.prune(ref('edits'), join=ref('wanted'), columns='service') }}
    """,
    "models/passing.sql": """
        {{ config(materialized='ephemeral') }}
        select * from {{ alluvium.prune(ref('edits'), join=ref('wanted')) }}
    """,
    "models/seen.sql": "{{ config(materialized='view') }} select * from {{ ref('passing') }}",
    "models/others.sql": "select 1 as other",
    "models/by_mapping.sql": """
        select * from {{ alluvium.prune(ref('edits'), {'SERVICE': ['writer', 'q'], 'status': 20}) }}
    """,
    "models/by_null.sql": """
        select * from {{ alluvium.prune(ref('edits'), {'status': [none, 0], 'note': "it's"}) }}
    """,
    "models/by_sql.sql": """
        select * from {{ alluvium.prune(ref('edits'), "service = 'writer' or status < 0 -- so") }}
    """,
    "models/by_join.sql": """
        {{ config(materialized='table') }}
        select e.* from {{ alluvium.prune(ref('edits'), join=ref('wanted')) }} as e where n > 2
    """,
    "models/by_version.sql": """
        {{ config(materialized='table') }}
        select * from {{ alluvium.prune(alluvium.at(ref('edits'), version=1), join=ref('wanted')) }}
    """,
    "models/joined.yml": """
        unit_tests:
          - name: of_partners
            model: by_columns
            given:
              - {input: ref('edits'), rows: [{n: 4, service: a}, {n: 5, service: b}]}
              - {input: ref('wanted'), rows: [{service: b}]}
            expect:
              rows: [{n: 5, service: b}]
    """,
}
COUNTED = "{{ alluvium.count_by(ref('edits'), ['GROUPED', 'note'], min_max='n') }}"
COUNTS = {
    "models/counted.sql": f"""
        {{{{ config(materialized='table') }}}} select * from {COUNTED} as counted
    """,
    "models/counted_where.sql": """
        {{ config(materialized='table') }}
        select * from {{ alluvium.count_by(ref('edits'), 'grouped', where={'note': "it's"}) }}
    """,
    "models/counted_live.sql": """
        {{ config(materialized='table') }} select * from {{ alluvium.count_by(ref('kept'), 'v') }}
    """,
    # Its rows are those of each day, and a hook may change what it reads.
    "models/counted_view.sql": f"select * from {COUNTED} as counted",
    "models/counted_hooked.sql": f"""
        {{{{ config(materialized='table', pre_hook='select 1') }}}} select * from {COUNTED}
    """,
    "models/kept.sql": """
        {{ config(materialized='incremental', file_format='delta', incremental_strategy='merge',
            unique_key='id',
            meta={'alluvium_merge': {'order_by': 'at', 'delete_when': 'op = 1'},
                'alluvium_layout': {'sort_by': 'id', 'index': ['v', '_deleted']}}) }}
        select id, 1 as at, id % 2 as op, 'x' as v from range(5)
    """,
    "models/counted.yml": """
        unit_tests:
          - name: of_rows
            model: counted
            given:
              - {input: ref('edits'), rows: [{n: 4, grouped: a, note: b}, {grouped: a, note: b}]}
            expect:
              rows: [{GROUPED: a, note: b, row_count: 2, min_n: 4, max_n: 4}]
    """,
    "tests/counts.sql": f"select * from {COUNTED} where row_count < 2",
}
PLAIN = {
    "by_mapping": "service in ('writer', 'q') and status = 20",
    "by_null": "(status is null or status = 0) and note = 'it\\'s'",
    "by_sql": "service = 'writer' or status < 0",
    "by_join": "service = 'writer' and n > 2",
    "by_version": "service = 'writer'",
}


@pytest.fixture(scope="module")
def shop(make_project: Callable[[str, dict[str, str]], Project]) -> Project:
    return make_project("pruning_shop", FILES | COUNTS)


def test_models(shop: Project) -> None:
    shop.dbt("run", "-s", "edits", "wanted")
    shop.dbt("run", "-s", "edits")
    table = f"{shop.schema}.edits"
    files = tag(shop.session, table, ["service", "status"])
    shop.dbt("run", "-s", *PLAIN)
    for model, where in PLAIN.items():
        found = shop.session.table(f"{shop.schema}.{model}")
        plain = shop.session.sql(f"select * from {table} where {where}")
        assert found.columns == plain.columns, model
        rows = plain.collect()
        assert sorted(found.collect(), key=str) == sorted(rows, key=str), model
        assert rows, model
    # What was compiled for the join has the values, so it reads the files of them alone.
    compiled = shop.root / f"target/compiled/{shop.schema}/models/by_join.sql"
    joined = compiled.read_text()
    assert "`service` in ('writer')" in joined
    assert files_read(shop.session, joined) < files
    shop.dbt("run-operation", "alluvium.explain_read", "--args",
             "{model: edits, where: {service: metadata}}")  # fmt: skip
    assert shop.said("0 files, 0 bytes left by automata")
    shop.dbt("test", "-s", "by_columns")
    # A view keeps no values of today, not even by way of an ephemeral model.
    shop.dbt("compile", "-s", "seen")
    seen = compiled.with_name("seen.sql").read_text()
    assert "left semi join" in seen
    assert " in (" not in seen
    # Without our adapter the join alone says which rows.
    shop.dbt("compile", "-s", "by_columns", "--target", "stock")
    plain = compiled.with_name("by_columns.sql").read_text()
    assert "left semi join" in plain
    assert " in (" not in plain


def test_counts(shop: Project) -> None:
    """The rows of the plain query, wherever it stands, and mostly from the log."""
    models = ["counted", "counted_where", "counted_view", "counted_hooked", "counted_live"]
    shop.dbt("build", "-s", "edits", "kept", *models)
    assert shop.said("kept: files get the index of v, _deleted when they are compacted")
    table = f"{shop.schema}.edits"
    where = {"counted_where": "where note = 'it''s'"}
    for model in models[:-1]:
        keys = "grouped" if model in where else "grouped, note"
        ends = "" if model in where else ", min(n), max(n)"
        plain = f"select {keys}, count(*){ends} from {table} {where.get(model, '')} group by {keys}"
        found = shop.session.table(f"{shop.schema}.{model}").collect()
        expected = shop.read(plain).itertuples(index=False, name=None)
        assert sorted(map(tuple, found)) == sorted(expected)
        assert len(found) > 0
        from_log = "the log tells all of" in shop.run_sql(model)
        assert from_log is (model in ("counted", "counted_where")), model
    assert shop.session.table(f"{shop.schema}.counted").columns == [
        "GROUPED", "note", "row_count", "min_n", "max_n"
    ]  # fmt: skip
    assert shop.read("select * from {s}.counted_live").values.tolist() == [["x", 3]]


def test_counts_elsewhere(shop: Project) -> None:
    """After the one before: once indexed, in an inline query, on a stock target, of no rows."""
    rows = len(shop.read("select id from {s}.edits"))
    # The log tells of a file with live rows alone where a tag says so.
    shop.dbt("run-operation", "alluvium.index", "--args", "{model: kept}")
    assert shop.said("kept: indexed")[0].split(" by ")[1].startswith("v, _deleted (")
    shown = shop.dbt("show", "--inline", f"select sum(row_count) as n from {COUNTED}")
    assert "the log tells all of" in shown.result.results[0].node.compiled_code
    assert shown.result.results[0].agate_table.rows[0][0] == rows
    shop.dbt("compile", "-s", "counted", "--target", "stock")
    compiled = shop.root / f"target/compiled/{shop.schema}/models/counted.sql"
    assert "count(*) as row_count, min(`n`)" in compiled.read_text()
    shop.dbt("run", "--empty", "-s", "counted")
    assert shop.read("select * from {s}.counted").empty


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("ref('edits')", "neither where nor join is given; accepted: one of them, or both"),
        ("ref('edits'), wher=1", "unknown argument wher; accepted: relation, where, join"),
        (
            "ref('edits'), join=ref('others')",
            "share no column, or are not there yet",
        ),
        ("ref('edits'), 3", "where is 3; accepted: SQL, or values by column"),
        ("ref('edits'), {'a': {'b': 1}}", 'a is {"b": 1}; accepted: a text, number'),
    ],
)
def test_mistakes(shop: Project, arguments: str, message: str) -> None:
    shop.write({"models/bad.sql": "select * from {{ alluvium.prune(" + arguments + ") }}"})
    result = shop.try_dbt("compile", "-s", "bad")
    shop.remove("models/bad.sql")
    assert not result.success
    assert message in str(result.exception) + "\n".join(shop.lines)


def test_mistakes_of_counts(shop: Project) -> None:
    for arguments, message in {
        "[]": "by names no column; accepted: one column or several",
        "'n', wher=1": "unknown argument wher; accepted: relation, by, where, min_max",
        "['min_n'], min_max='n'": "have one name: min_n, row_count, min_n, max_n; accepted",
        "'n', 3": "where is 3; accepted: SQL, or values by column",
    }.items():
        shop.write({"models/bad.sql": "{{ alluvium.count_by(ref('edits'), " + arguments + ") }}"})
        result = shop.try_dbt("compile", "-s", "bad")
        shop.remove("models/bad.sql")
        assert message in str(result.exception) + "\n".join(shop.lines)
