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
        select id as n, id, split('{{ group }}', ' ')[int(id % 3)] as service,
            if(id = 4, null, int(id * 10)) as status, 'it''s' as note from range(6)
        {%- if is_incremental() %} union all select 9, 9, 'alpha', 5, 'x' where false{% endif %}
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
}
PLAIN = {
    "by_mapping": "service in ('writer', 'q') and status = 20",
    "by_null": "(status is null or status = 0) and note = 'it\\'s'",
    "by_sql": "service = 'writer' or status < 0",
    "by_join": "service = 'writer' and n > 2",
}


@pytest.fixture(scope="module")
def shop(make_project: Callable[[str, dict[str, str]], Project]) -> Project:
    return make_project("pruning_shop", FILES)


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
        assert sorted(found.collect(), key=str) == sorted(plain.collect(), key=str), model
        assert plain.count() > 0, model
    # What was compiled for the join has the values, so it reads the files of them alone.
    compiled = shop.root / f"target/compiled/{shop.schema}/models/by_join.sql"
    joined = compiled.read_text()
    assert "`service` in ('writer')" in joined
    assert files_read(shop.session, joined) < files
    shop.dbt("run-operation", "alluvium.explain_read", "--args",
             "{model: edits, where: {service: metadata}}")  # fmt: skip
    assert shop.said("0 files, 0 bytes left by automata")
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
