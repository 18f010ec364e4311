"""Rules of published models, before anything runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from alluvium.delta.log.log import TableVersion
from alluvium.plan import published_models
from dbt.adapters.alluvium import audit
from dbt.adapters.alluvium.verbs import publishing

WAP, SHOWN, DOWN, OTHER = (f"model.p.{name}" for name in ("wap", "shown", "down", "other"))


class Config(SimpleNamespace):
    """A node's config: dbt's has both ways to ask."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(**values)

    def get(self, name: str) -> Any:
        return getattr(self, name, None)


def node(unique_id: str, parents: tuple[str, ...] = (), **more: Any) -> SimpleNamespace:
    kind, package, name = unique_id.split(".")[:3]
    config = {"materialized": "incremental", "meta": {}, "contract": None} | more.pop("config", {})
    given = {"columns": {}, "constraints": [], "raw_code": "", "version": None}
    return SimpleNamespace(
        unique_id=unique_id,
        resource_type=kind,
        package_name=package,
        name=name,
        depends_on=SimpleNamespace(nodes=list(parents)),
        config=Config(config),
        **given | more,
    )


def shown(
    raw_code: str = "select * from {{ ref('wap') }}",
    parents: tuple[str, ...] = (WAP,),
    **more: Any,
) -> SimpleNamespace:
    config = {"materialized": "published"} | more.pop("config", {})
    return node(SHOWN, parents, raw_code=raw_code, config=config, **more)


def generic(name: str = "not_null", parents: tuple[str, ...] = (WAP,)) -> SimpleNamespace:
    return node(f"test.p.{name}", parents, attached_node=WAP, test_metadata=object())


def said(*nodes: SimpleNamespace) -> list[str]:
    """Each mistake."""
    return list(audit.mistakes({one.unique_id: one for one in nodes}))


@pytest.mark.parametrize(
    "raw_code",
    [
        "select * from {{ ref('wap') }}",
        "SELECT  *\nFROM {{ref(\"p\", 'wap')}} ;\n",
        "{{- config(materialized='published', meta={'a': (1)}) -}}\n"
        "-- depends_on: {{ ref('other') }}\n/* what\nreaders see */"
        " select * from {{- ref( 'wap' ) -}} -- all\n{# none #}",
        "{{ config(post_hook=\"{{ alluvium.vacuum(this) }}\") }} select * from {{ ref('wap') }}",
    ],
)
def test_the_candidate(raw_code: str) -> None:
    nodes = {WAP: node(WAP), OTHER: node(OTHER), SHOWN: shown(raw_code, (OTHER, WAP))}
    assert published_models.candidate_of(nodes[SHOWN], nodes) is nodes[WAP]


def test_the_table_that_the_select_is_of() -> None:
    for sql in ("select * from prod.wap", "select * from (select * from prod.wap where false) _x"):
        assert audit.reads(sql, "prod.wap")
        for other in ("od.wap", "prod.wa", "prod", "wap"):
            assert not audit.reads(sql, other), other
    assert audit.reads("select * from `my-prod`.`wap`", "`my-prod`.`wap`")


def test_a_version_of_the_candidate() -> None:
    old, new = (node(f"{WAP}.v{number}", version=number) for number in (1, 2))
    one = shown("select * from {{ ref('wap', v=2) }}", (new.unique_id,))
    assert (
        published_models.candidate_of(one, {each.unique_id: each for each in (old, new, one)})
        is new
    )


@pytest.mark.parametrize(
    "raw_code",
    [
        "select id from {{ ref('wap') }}",
        "select * from {{ ref('wap') }} where id > 1",
        "select * from {{ ref('wap') }} union all select * from {{ ref('other') }}",
        "select * from {{ source('a', 'b') }}",
        "{% if true %}select * from {{ ref('wap') }}{% endif %}",
        "select * from s.wap",
        "",
    ],
)
def test_anything_but_one_table_is_a_mistake(raw_code: str) -> None:
    (line,) = said(node(WAP), node(OTHER), generic(), shown(raw_code, (WAP, OTHER)))
    assert line.startswith(
        "shown: a published model shows one whole table; accepted: `select * from"
    )
    assert line.endswith(". Filters and columns belong in the model of that table")


def test_what_is_no_table_is_a_mistake() -> None:
    view = node(WAP, config={"materialized": "view"})
    (line,) = said(view, generic(), shown())
    assert line == (
        "shown: wap is materialized as view, of which no version is kept;"
        " accepted: incremental, table, snapshot"
    )
    (line,) = said(node(OTHER), shown("select * from {{ ref('gone') }}", ()))
    assert line.startswith("shown: 'gone' names no table of the project; accepted:")


def test_an_audit_is_asked_for() -> None:
    (line,) = said(node(WAP), shown())
    assert "wap has no data test, so nothing would be audited" in line
    none = {"meta": {"alluvium_publish": {"audit": "none"}}}
    assert said(node(WAP), shown(config=none)) == []
    assert said(node(WAP), generic(), shown()) == []
    # A test that only refers to the table, as `relationships` of another model does, is none of it.
    other = node("test.p.relationships", (OTHER, WAP), attached_node=OTHER, test_metadata=object())
    assert len(said(node(WAP), node(OTHER), other, shown())) == 1
    singular = node("test.p.no_wolves", (WAP,))
    assert said(node(WAP), singular, shown()) == []


def test_who_publishes_and_for_how_long_it_is_kept() -> None:
    meta = {"alluvium_publish": {"targets": ["prod", "ci"], "retention": "40 days"}}
    one = shown(config={"meta": meta})
    assert [published_models.may_publish(one, target) for target in ("prod", "dev")] == [
        True,
        False,
    ]
    assert audit.elsewhere(one, "dev") == (
        "target dev publishes nothing, meta.alluvium_publish has targets: prod, ci"
    )
    assert published_models.may_publish(shown(), "dev")
    both = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")
    assert audit.own_properties(one) == dict.fromkeys(both, "interval 40 days")
    assert said(node(WAP), generic(), one) == []
    properties = {"delta.logRetentionDuration": "interval 9 days", "mine": 1}
    two = shown(config={"meta": meta, "tblproperties": properties})
    (line,) = said(node(WAP), generic(), two)
    assert "retention sets delta.logRetentionDuration, and so does tblproperties" in line
    other = shown(config={"tblproperties": properties})
    assert audit.own_properties(other) == {"mine": "1", both[1]: "interval 9 days"}


def test_a_test_reads_only_what_comes_before() -> None:
    nodes = [node(WAP), node(OTHER), generic("relationships", (OTHER, WAP))]
    (line,) = said(*nodes, shown())
    assert "the test relationships of wap reads other, which dbt may build after shown" in line
    assert "accepted: in shown -- depends_on: {{ ref('other') }}" in line
    for version, written in ((1, "1"), ("new", "'new'")):
        of_version = [nodes[0], node(OTHER, version=version), nodes[2]]
        (line,) = said(*of_version, shown())
        assert f"reads other.v{version}, which dbt may build after shown" in line
        assert f"accepted: in shown -- depends_on: {{{{ ref('other', v={written}) }}}}" in line
    assert said(*nodes, shown(parents=(WAP, OTHER))) == []
    # What the candidate is built from comes before too.
    assert said(node(WAP, (OTHER,)), *nodes[1:], shown()) == []


def test_a_seed_is_made_from_nothing() -> None:
    seed = node("seed.p.countries")
    seed.depends_on = SimpleNamespace(macros=[])
    made = node(WAP, (seed.unique_id,))
    both = generic("relationships", (WAP, seed.unique_id))
    assert said(seed, made, both, shown()) == []
    (line,) = said(seed, node(WAP), both, shown())
    assert "reads countries, which dbt may build after shown" in line


def test_a_test_reads_nothing_that_comes_after() -> None:
    down = node(DOWN, (SHOWN,))
    for parent in (SHOWN, DOWN):
        (line,) = said(node(WAP), down, generic("compare", (WAP, parent)), shown())
        assert "which comes after the publish that it gates; accepted: the test on shown" in line


def test_a_test_reads_the_candidate_itself() -> None:
    view = node(OTHER, (WAP,), config={"materialized": "view"})
    (line,) = said(node(WAP), view, generic("compare", (WAP, OTHER)), shown(parents=(OTHER, WAP)))
    assert "reads other too, which may be made from another version of it" in line


def test_rules_that_a_publish_checks_nowhere() -> None:
    contract = {"contract": SimpleNamespace(enforced=True)}
    (line,) = said(node(WAP), generic(), shown(config=contract))
    assert line.endswith("it checks no contract; accepted: the contract on wap")
    (line,) = said(node(WAP), generic(), shown(config={"meta": {"alluvium_layout": {}}}))
    assert line.endswith("a publish writes none; accepted: meta.alluvium_layout on wap")
    (line,) = said(node(WAP), generic(), shown(config={"partition_by": ["id"]}))
    assert line.endswith("a publish writes none; accepted: partition_by on wap")
    column = {"id": SimpleNamespace(constraints=[object()])}
    (line,) = said(node(WAP), generic(), shown(columns=column))
    assert line.endswith("it checks no constraint; accepted: the constraints on wap")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["none"], ': ["none"] is not a mapping; accepted keys: audit, require, before_first'),
        ("none", ': "none" is not a mapping; accepted keys: audit, require, before_first'),
        ({"audit": False}, ".audit: false is not accepted; accepted: tests, none"),
        ({"target": "prod"}, ": unknown key target; accepted: audit, require, before_first"),
    ],
)
def test_settings_that_are_wrong(given: object, line: str) -> None:
    model = shown(config={"meta": {"alluvium_publish": given}})
    found = said(node(WAP), generic(), model)
    assert [one[: len(line) + 28] for one in found] == [f"shown: meta.alluvium_publish{line}"]


def test_settings_of_other_models_are_told() -> None:
    (line,) = said(node(WAP, config={"meta": {"alluvium_publish": {}}}))
    assert line == (
        "wap: meta.alluvium_publish is read of published models only;"
        " accepted: materialized: published"
    )


def test_what_passes() -> None:
    test = node("test.p.t", config={"severity": "error"})
    flags = SimpleNamespace(
        WARN_ERROR=False, WARN_ERROR_OPTIONS=SimpleNamespace(includes=lambda _: False)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit, "get_flags", lambda: flags)
        assert audit.passed(test, {"should_error": False, "should_warn": True})
        assert not audit.passed(test, {"should_error": True, "should_warn": True})
        warns = node("test.p.t", config={"severity": "WARN"})
        assert audit.passed(warns, {"should_error": True, "should_warn": True})
        flags.WARN_ERROR = True
        assert not audit.passed(warns, {"should_error": True, "should_warn": True})


def test_what_passed_before_counts_for_its_version() -> None:
    results = [
        SimpleNamespace(
            unique_id=name, status=status, adapter_response={"versions": {"s.t": f"id/{at}"}}
        )
        for name, status, at in (
            ("a", "pass", 7),
            ("b", "warn", 7),
            ("c", "fail", 7),
            ("d", "pass", 6),
        )
    ]
    results.append(SimpleNamespace(unique_id="e", status="pass", adapter_response={}))
    found = audit.passes(results)
    assert audit.earlier(found, "s.t", TableVersion("other", 7)) == set()
    assert audit.earlier(found, "s.t", TableVersion("id", 7)) == {"a", "b"}
    # A retry takes up a retry: what passed before both counts, if it was not run again.
    again = [SimpleNamespace(unique_id="b", status="fail", adapter_response={})]
    carried = audit.passes(again, found)
    assert audit.earlier(carried, "s.t", TableVersion("id", 7)) == {"a"}
    assert audit.earlier(carried, "s.t", TableVersion("id", 6)) == {"d"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "nothing is published yet, and it is Monday; accepted: {}, or meta.alluvium_publish:"),
        (
            {"require": True},
            "it is Monday, and meta.alluvium_publish says require: true; accepted: {}",
        ),
    ],
)
def test_what_stays_says_which_command_publishes(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], said: str
) -> None:
    monkeypatch.setattr(publishing.publish, "head", lambda session, table: None)
    own = SimpleNamespace(
        _handle=SimpleNamespace(session=None), config=SimpleNamespace(target_name="dev")
    )
    meta, candidate = {"alluvium_publish": settings}, node(WAP)
    for version, name in ((None, "shown"), (1, "shown.v1")):
        one = shown(config={"meta": meta}, version=version)
        with pytest.raises(DbtRuntimeError) as raised:
            publishing.Publishing._not_published(
                own, one, candidate, "s.wap", "s.shown", "it is Monday"
            )
        accepted = f"`dbt build -s wap {name}`"
        assert raised.value.msg.startswith(f"{name}: {said.format(accepted)}")
