"""A merge, a publish and a compaction before the first test of a worker.

The first of each loads and compiles what all later ones use. Booked on a test, its cost would
depend on which tests its worker had run before.
"""

from __future__ import annotations

from pathlib import Path

import yaml
from functional.compaction import tables
from functional.runner import REPO, Project, new_session

from alluvium.compact.run import compact
from alluvium.plan.layout.settings import Layout

MODELS = {
    "models/items_wap.sql": """
        {{ config(materialized='incremental', unique_key='id',
                  meta={'alluvium_merge': {'order_by': 'lsn'}}) }}
        select id, id as lsn from range(9)
    """,
    "models/items.sql": """
        {{ config(materialized='published') }} select * from {{ ref('items_wap') }}
    """,
    "tests/no_negatives.sql": "select * from {{ ref('items_wap') }} where id < 0",
}


def small_project(root: Path, home: Path, schema: str) -> Project:
    """A merged candidate, its test, and what readers see: one `dbt build` away."""
    target = {"type": "alluvium", "schema": schema, "home": str(home), "threads": 1}
    project = Project(root, home, schema)
    project.write(
        {
            "profiles.yml": yaml.safe_dump({"p": {"target": "t", "outputs": {"t": target}}}),
            "dbt_project.yml": yaml.safe_dump(
                {"name": schema, "profile": "p", "flags": {"send_anonymous_usage_stats": False}}
            ),
            "packages.yml": yaml.safe_dump({"packages": [{"local": str(REPO)}]}),
            **MODELS,
        }
    )
    project.dbt("deps")
    return project


def warm_up(root: Path, home: Path) -> None:
    """Starts the context of `home`; leaves a schema there, and a table in `root`."""
    small_project(root, home, "warm_up").dbt("build")
    session = new_session(home)
    table = tables.make(session, root / "table", files=4)
    compact(session, table, Layout(tables.SORT_BY, target_rows=1000, fan_in=2), "warm_up")
    assert len(tables.files_of(root / "table")) == 1
