"""The page about dbt's adapter suite says what the classes do, and no class is left out."""

from __future__ import annotations

from functional.adapter.suite import table


def test_every_class_of_the_suite_is_collected_or_has_a_reason() -> None:
    covered = {base for cls in table.our_classes() for base in cls.__mro__}
    missing = [
        table.suite_name(cls)
        for cls in table.suite_classes()
        if cls not in covered and table.reason_not_collected(cls) is None
    ]
    assert missing == []


def test_every_override_has_a_reason() -> None:
    for cls in table.our_classes():
        for name, reason in table.overrides(cls).items():
            assert reason, f"{cls.__module__}.{cls.__name__}.{name}: no docstring says why"


def test_no_test_body_is_replaced() -> None:
    for cls in table.our_classes():
        replaced = [name for name in table.overrides(cls) if name in table.tests_of(cls)]
        assert not replaced, f"{cls.__name__} replaces {replaced}"


def test_the_page_is_up_to_date() -> None:
    current = table.PAGE.read_text()
    assert current == table.page(current), (
        "docs/adapter-suite.md is behind the classes: run"
        " `PYTHONPATH=tests python -m functional.adapter.suite.table`"
    )
