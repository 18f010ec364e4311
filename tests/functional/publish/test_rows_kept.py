"""The data test `alluvium.rows_kept`: a candidate beside what its readers see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from deltalake import write_deltalake
from functional import delta_rs
from functional.runner import REPO, Project

from alluvium.command import main as command

pytestmark = pytest.mark.spark
SCHEMA = "rows_kept"
SHOWS = "{{ config(materialized='published') }} select * from {{ ref('items_wap') }}"
ITEMS = """
{{ config(materialized='table') }} select id from range({{ var('n', 10) }})
"""


def one(name: str, where: str | None = None, **arguments: Any) -> dict[str, Any]:
    """The test by this name, as a model's yml has it."""
    return {
        "alluvium.rows_kept": {"name": name, "arguments": arguments, "config": {"where": where}}
    }


def models(name: str, **given: Any) -> str:
    tests = [one(name, **given)]
    return yaml.safe_dump({"models": [{"name": "items_wap", "data_tests": tests}]})


@pytest.fixture(scope="module")
def project(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("rows_kept"), home, SCHEMA)
    target = {"type": "alluvium", "schema": SCHEMA, "home": str(home), "threads": 1}
    stock = {"type": "spark", "method": "session", "host": "NA", "schema": SCHEMA}
    profile = {"target": "t", "outputs": {"t": target, "stock": stock}}
    project.write(
        {
            "dbt_project.yml": yaml.safe_dump(
                {
                    "name": SCHEMA,
                    "profile": "p",
                    "flags": {"send_anonymous_usage_stats": False},
                }
            ),
            "profiles.yml": yaml.safe_dump({"p": profile}),
            "packages.yml": yaml.safe_dump({"packages": [{"local": str(REPO)}]}),
            "models/items_wap.sql": ITEMS,
            "models/items.sql": SHOWS,
            "models/models.yml": models("kept", share="{{ var('share', 0.8) }}"),
        }
    )
    project.dbt("deps")
    return project


def kept(project: Project, *args: str) -> str:
    """Status of the test in a run of dbt."""
    done = project.try_dbt(*args)
    assert done.exception is None, done.exception
    (status,) = (str(one.status) for one in done.result if one.node.name == "kept")
    return status


def test_the_share_that_stays(project: Project) -> None:
    # Before the first publish there is nothing to compare with.
    assert kept(project, "build") == "pass"
    assert project.said("items: 1 test passed → version")
    # Of ten rows eight are the share.
    eight = pa.table({"id": range(8)})
    folder = delta_rs.folder_of(project.home, SCHEMA, "items_wap")
    write_deltalake(folder, eight, mode="overwrite")
    assert kept(project, "test") == "pass"
    stops = ("--select", "items", "kept", "--vars", "{share: 0.81}")
    assert kept(project, "build", *stops) == "fail"
    assert project.read("select count(*) as n from {s}.items")["n"][0] == 10
    # A where holds for both sides: of the first eight rows all are there.
    project.write({"models/models.yml": models("kept", share=0.81, where="id < 8")})
    assert kept(project, "test") == "pass"
    # Without rows nothing is compared.
    project.write({"models/models.yml": models("kept", share=0.81)})
    assert kept(project, "build", "--empty", "--select", "items_wap") == "pass"


def test_a_column_that_readers_do_not_have_yet(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that they see counts, until they have it. What is held back is noted for a look."""
    text = "{{ config(materialized='table') }} select id, id > 7 as closed from range(10)"
    project.write({"models/items_wap.sql": text})
    said = f"alluvium.rows_kept: {SCHEMA}.items, which readers see, cannot answer `where: "
    for share, where, result in ((0.9, "not closed", "fail"), (0.8, "closed is false", "pass")):
        project.write({"models/models.yml": models("kept", share=share, where=where)})
        assert kept(project, "build") == result
        assert project.said(f"{said}{where}` yet, so all its rows count")
        held = project.said("  kept: 8 rows, readers see 10")
        assert bool(held) is (result == "fail")
        capsys.readouterr()
        status = command.main(["status", "--project-dir", str(project.root)])
        seen = capsys.readouterr().out
        assert status == int(result == "fail"), seen
        assert ("failed: kept (8 rows, readers see 10); what changed:" in seen) is bool(status)
        assert command.main(["report", "--project-dir", str(project.root)]) == 0
        page = Path(capsys.readouterr().out.strip()).read_text()
        assert ("failed: kept (8 rows, readers see 10); what changed:" in page) is bool(status)
        assert ("Nothing is wrong" in page) is not bool(status)
    assert sum(project.read("select closed from {s}.items")["closed"]) == 2
    assert kept(project, "test") == "pass"
    assert not project.said(said)
    project.write({"models/items_wap.sql": ITEMS})


def test_the_published_model_is_found_or_named(project: Project) -> None:
    project.write({"models/others.sql": SHOWS, "models/plain.sql": "select 1 as id"})
    wrong = {
        "alone": ({}, "items, others show items_wap; accepted: published: one of them"),
        "other": (
            {"published": "plain"},
            "plain does not show items_wap; accepted: published: items",
        ),
        "misspelt": ({"published": "item"}, "published: there is no enabled model 'item'"),
    }
    tests = [one(name, share=0.8, **given) for name, (given, _) in wrong.items()]
    tests.append(one("kept", share=0.5, published="items"))
    models = [
        {"name": "items_wap", "data_tests": tests},
        {"name": "plain", "data_tests": [one("unpublished", share=0.8)]},
    ]
    project.write({"models/models.yml": yaml.safe_dump({"models": models})})
    status = {one.node.name: str(one.status) for one in project.try_dbt("test").result}
    assert status == dict.fromkeys([*wrong, "unpublished"], "error") | {"kept": "pass"}
    for said in (
        *(said for _, said in wrong.values()),
        "no published model shows plain; accepted: a test of a model that one shows",
    ):
        assert project.said(f"alluvium.rows_kept: {said}"), said


def test_stock_targets_say_what_they_need(project: Project) -> None:
    """Where the published model is disabled, the test of its candidate stops."""
    assert not project.try_dbt("test", "--select", "items_wap", "--target", "stock").success
    assert project.said("items: materialized: published, and the target is of type spark, which")
    text = SHOWS.replace("'published'", "'published', enabled=target.type == 'alluvium'")
    shows = ("models/items.sql", "models/others.sql")
    project.write(dict.fromkeys(shows, text))
    assert not project.try_dbt("test", "--select", "items_wap", "--target", "stock").success
    assert project.said("alluvium.rows_kept: the target is of type spark, which publishes nothing")
    project.write(dict.fromkeys(shows, SHOWS))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "share is missing; accepted: a number"),
        ({"share": 0}, "share is 0; accepted: a number above 0, up to 1"),
        ({"share": 90}, "share is 90; accepted: a number above 0, up to 1"),
        ({"share": "most"}, 'share is "most"; accepted: a number above 0, up to 1'),
        ({"share": 0.9, "of": "items"}, "unknown argument of; accepted: share, published"),
    ],
)
def test_arguments_are_checked(project: Project, arguments: dict[str, Any], said: str) -> None:
    project.remove("models/others.sql", "models/plain.sql")
    project.write({"models/models.yml": models("kept", **arguments)})
    done = project.try_dbt("parse")
    assert not done.success
    assert f"alluvium.rows_kept: {said}" in str(done.exception)
