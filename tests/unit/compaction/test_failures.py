"""Which failures a run goes on after, and what it leaves alone from then on."""

from __future__ import annotations

from alluvium.compact.outcome import Failures
from alluvium.plan.compaction.bucket import FINAL, MergeTask


def merge(*inputs: str) -> MergeTask:
    return MergeTask("day=1", FINAL, inputs, 1, 10, 100, 1, 0.0, 0, 0)


def test_the_fragment_that_the_reason_names_is_left_alone() -> None:
    failures = Failures()
    failures.add(merge("day=1/a.parquet", "day=1/b.parquet"), "cannot read s3://x/day=1/b.parquet")
    assert failures.stuck == {"day=1/b.parquet"}


def test_where_it_names_none_all_of_the_merge_are() -> None:
    failures = Failures()
    failures.add(merge("a.parquet", "b.parquet"), "cannot read c.parquet")
    assert failures.stuck == {"a.parquet", "b.parquet"}


def test_a_run_is_given_up_after_failures_one_after_the_other() -> None:
    for reasons, most in (([f"no access to {n}" for n in range(99)], 32), (["full"] * 99, 8)):
        failures, tried = Failures(), 0
        for reason in reasons:
            failures.add(merge("a"), reason)
            tried += 1
            if failures.are_hopeless:
                break
        assert tried == most
        assert f"{most} merges failed, the run was given up" in failures.text("logs")


def test_a_merge_between_them_that_has_not_failed_ends_the_row() -> None:
    failures = Failures()
    for _ in range(20):
        for _ in range(7):
            failures.add(merge("a"), "full")
        assert not failures.are_hopeless
        failures.reset_streak()
    assert "140 merges failed, the others went on" in failures.text("logs")


def test_what_stopped_a_run_is_told_behind_what_failed() -> None:
    failures = Failures()
    assert failures.text("logs", "a full disk") == "logs: the run was stopped by a full disk"
    failures.add(merge("a"), "gone")
    text = failures.text("logs", "a full disk")
    assert text.startswith("logs: a merge failed, then the run was stopped by a full disk:")
    assert text.endswith("- day=1, 1 fragment (final): gone")
