"""`alluvium run`: builds of selections in turns, in one process, until it is told to end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, cast

import click
from click.core import ParameterSource
from dbt.adapters.factory import get_adapter_by_type
from dbt.cli.main import cli, dbtRunner, dbtRunnerResult
from dbt.graph.selector import NodeSelector

from alluvium.command.rounds_wanted import Selection, Wanted
from alluvium.command.stopping import Stop
from alluvium.engine import EngineError, java, versions
from alluvium.engine import rounds as between
from alluvium.engine import session as engine
from alluvium.plan.turns import Turn, next_of
from alluvium.wording import counted, in_bytes
from dbt.adapters.alluvium import told
from dbt.adapters.alluvium.rounds_shown import RoundsShown

# The exit statuses: it was told to end; no round could go well; it holds too much memory.
ENDED, CANNOT, TOO_LARGE = 0, 2, 75
# Seconds between two looks at what was asked; and for which the home is free before a round that is
# due already: others look five times a second.
_LOOK, _PAUSE = 0.2, 0.5
_FAILED = ("error", "fail", "runtime error", "partial success")
_OWN = ("select", "models", "selector", "exclude", "project_dir")
_KINDS = ("model", "seed", "snapshot", "test", "unit_test")


class _StartError(Exception):
    """What no round can mend; the message says what is accepted."""


def run(wanted: Wanted) -> int:
    """Build in rounds; gives the exit status."""
    stop = Stop(wanted.stop_within)
    between.begin()
    try:
        with stop.listening():
            rounds = _Rounds(wanted, stop, _checked(wanted))
            return rounds.go()
    except _StartError as error:
        print(f"alluvium: {error}", file=sys.stderr)
        return CANNOT
    except KeyboardInterrupt:
        return ENDED


def _checked(wanted: Wanted) -> Any:
    """The target's adapter, once profile, project, options and selections are right."""
    given = _options(wanted.dbt)
    quiet = {**given, "project_dir": str(wanted.folder), "log_level": "none"}
    parsed = _invoked(["parse"], quiet)
    manifest: Any = parsed.result
    kind = manifest.metadata.adapter_type
    if kind != "alluvium":
        raise _StartError(f"the target is of type {kind}; accepted: alluvium")
    kinds = [part for one in _KINDS for part in ("--resource-type", one)]
    if "resource_types" in given:
        kinds.clear()
    for one, _ in wanted.selections:
        listed = _invoked(["ls", one.option, one.text, *kinds], quiet, manifest)
        if not listed.result:
            raise _StartError(f"{one.option} {one.text} selects nothing that dbt builds")
    try:
        java.check()
        versions.check()
    except EngineError as error:
        raise _StartError(str(error)) from error
    return get_adapter_by_type(kind)


def _options(given: Sequence[str]) -> dict[str, Any]:
    """What stands behind `--`, by dbt's names of it."""
    try:
        with cli.commands["build"].make_context("build", list(given)) as found:
            sources = {name: found.get_parameter_source(name) for name in found.params}
            options = {
                name: value
                for name, value in found.params.items()
                if sources[name] == ParameterSource.COMMANDLINE
            }
    except click.exceptions.Exit:
        raise _StartError("--help belongs to `dbt build --help`") from None
    except click.ClickException as error:
        raise _StartError(
            f"{error.format_message()}; accepted behind --: options of dbt build"
        ) from error
    if own := [name for name in _OWN if name in options]:
        raise _StartError(
            f"--{own[0].replace('_', '-')} behind --; accepted before it: --select, --selector and"
            " --project-dir"
        )
    return options


def _invoked(
    arguments: list[str], options: Mapping[str, Any], manifest: Any = None
) -> dbtRunnerResult:
    """What a command of dbt gives; options: those of `dbt build`, of which it knows some."""
    known = {one.name for one in cli.commands[arguments[0]].params}
    taken = {name: value for name, value in options.items() if name in known}
    done = dbtRunner(manifest=manifest).invoke(arguments, **taken)
    if not done.success:
        raise _StartError(str(done.exception or f"dbt {arguments[0]} failed"))
    return done


@dataclass
class _Selection:
    """What a round selected, with what was left out; None before dbt has come so far."""

    nodes: set[str] | None = None
    left_out: int = 0


@contextmanager
def _leaving_out(waiting: frozenset[str]) -> Iterator[_Selection]:
    """Leave nodes out of what dbt selects, and all that is below them.

    dbt's own `--exclude` counts for nothing beside `--selector`.
    """
    asked, selector = _Selection(), cast(Any, NodeSelector)
    whole = selector.filter_selection

    def some(self: Any, selected: Any) -> Any:
        found = whole(self, selected)
        graph = self.full_graph
        held = {one for one in waiting if one in graph.nodes()}
        # As dbt itself finds what it skips: a test stands above what is built from its model.
        held = held.union(*(graph.get_dependent_nodes(one) for one in held))
        asked.nodes = (asked.nodes or set()) | found
        asked.left_out = len(asked.nodes & held)
        return found - held

    selector.filter_selection = some
    try:
        yield asked
    finally:
        selector.filter_selection = whole


def _ran(results: Sequence[Any]) -> dict[str, bool]:
    """The nodes that ran, by their ids, and whether they went well."""
    found = {}
    for one in results:
        status, node = str(one.status), one.node
        if status == "skipped":
            continue
        found[node.unique_id] = status not in _FAILED
        if node.resource_type == "unit_test" and status in _FAILED:
            # dbt does not run its model: that is tried again with it.
            found |= dict.fromkeys(node.depends_on.nodes, False)
    return found


@dataclass
class _Rounds:
    """The rounds of one command."""

    wanted: Wanted
    stop: Stop
    adapter: Any
    _turns: dict[Selection, Turn] = field(init=False)
    _shown: RoundsShown = field(init=False)
    _has_logs: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._turns = self.wanted.turns(time.monotonic())
        self._shown = RoundsShown(self.wanted, self._turns)

    def go(self) -> int:
        try:
            self._shown.begin(self.adapter.config)
        except OSError as error:
            raise _StartError(
                f"--metrics-port {self.wanted.metrics_port}: {error}; accepted: one that is free"
            ) from error
        while self._waited():
            turn = next_of(self._turns.values())
            selection = next(one for one, its in self._turns.items() if its is turn)
            if not self._round(selection, turn):
                break
            if not self.stop.asked and self._is_too_large():
                return TOO_LARGE
        self._say("ended as it was told to")
        return ENDED

    def _waited(self) -> bool:
        """Wait until a round is due, and the home is this process's; False for an end."""
        due = next_of(self._turns.values()).due
        self._idle_until(max(due, time.monotonic() + _PAUSE))
        creds = self.adapter.config.credentials
        settings = replace(self.adapter.ConnectionManager.settings(creds), wait=0.0)
        said = ""
        while not self.stop.asked:
            try:
                engine.hold(settings, self._say)
                return True
            except EngineError as error:
                if str(error) != said:
                    said = str(error)
                    self._say(f"a round waits: {said}")
            except OSError:
                return True  # which dbt tells
            self._idle_until(time.monotonic() + _LOOK)
        return False

    def _idle_until(self, then: float) -> None:
        while not self.stop.asked and (left := then - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK))
            self._shown.alive()

    def _round(self, selection: Selection, turn: Turn) -> bool:
        """A round, and what follows; False for an end."""
        began, done = time.monotonic(), None
        options = ["--project-dir", str(self.wanted.folder), *self.wanted.dbt]
        with suppress(KeyboardInterrupt), self.stop.running():
            if self.stop.asked:
                return False
            with _leaving_out(turn.waiting()) as asked:
                done = dbtRunner().invoke(["build", selection.option, selection.text, *options])
        self._has_logs = True
        if done is None or isinstance(done.exception, KeyboardInterrupt):
            self._say("the round was cancelled")
            return False
        with suppress(KeyError):  # a profile that is wrong by now leaves none
            self.adapter = get_adapter_by_type("alluvium")
        if between.end_if_lost():
            told.warn("the JVM has ended by itself; the next round starts one")
        if not between.let_go():
            told.warn("the metastore does not close, and the home stays in use between rounds")
        ran = _ran(getattr(done.result, "results", None) or ())
        turn.ended(time.monotonic(), asked.nodes, ran, is_well=done.success)
        seconds = time.monotonic() - began
        self._say(f"round {turn.rounds:,} of {selection.text}: {_said(done, asked, ran, seconds)}")
        self._shown.ended(
            self.adapter.config, selection, is_well=done.success, has_results=bool(ran)
        )
        return True

    def _is_too_large(self) -> bool:
        limit = self.wanted.max_memory
        held = None if limit is None else between.resident()
        if limit is None or held is None or held <= limit:
            return False
        self._say(f"{in_bytes(held)} of memory, above --max-memory: ends, to be started again")
        return True

    def _say(self, line: str) -> None:
        """Tell a line; dbt's logs are silent before the first round."""
        if self._has_logs:
            told.say(line)
        else:
            print(line, file=sys.stderr, flush=True)


def _said(done: dbtRunnerResult, asked: _Selection, ran: Mapping[str, bool], seconds: float) -> str:
    """What is told of a round."""
    failed = sum(not one for one in ran.values())
    parts = [f"{counted(len(ran), 'node')} in {seconds:.1f} s"]
    if not done.success:
        parts.append(f"{failed:,} failed" if failed else "it failed before them")
    if asked.left_out:
        parts.append(f"{asked.left_out:,} left out after a failure")
    return ", ".join(parts)
