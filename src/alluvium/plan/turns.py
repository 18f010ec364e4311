"""Whose turn it is where several selections share one process, and what of one is tried again.

Times are seconds of a clock that never goes back; the caller has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

# Seconds after which a failed node is tried again at the latest, where the period is not longer.
LONGEST = 86_400.0
_DOUBLINGS = 20


@dataclass(frozen=True)
class _Failing:
    """A node that failed.

    Attributes:
        times: how often, one time after another.
        again: from when on it is tried again.
    """

    times: int
    again: float


@dataclass
class Turn:
    """A selection that is built once each period.

    Attributes:
        period: seconds.
        due: when its next round is.
        rounds: that ended.
        failures: of these, where something failed.
        overran: of these, those that ended when the next one was due already.
    """

    period: float
    due: float
    rounds: int = 0
    failures: int = 0
    overran: int = 0
    _failing: dict[str, _Failing] = field(default_factory=dict)

    @property
    def failed(self) -> frozenset[str]:
        """The nodes that did not go well when they last ran."""
        return frozenset(self._failing)

    def waiting(self) -> frozenset[str]:
        """The nodes that failed, and that its next round is not to try again."""
        return frozenset(node for node, one in self._failing.items() if one.again > self.due)

    def ended(
        self,
        now: float,
        asked: Collection[str] | None,
        ran: Mapping[str, bool],
        *,
        is_well: bool,
    ) -> None:
        """Its round is over: the next one is a period after this one was due, or at once.

        A node that failed is tried again after one period, and after twice as many each time.

        Args:
            asked: the nodes that the selection has; None where the round did not get so far.
            ran: those that ran, and whether they went well.
            is_well: whether nothing failed, beside its nodes either.
        """
        if asked is not None:
            self._failing = {node: one for node, one in self._failing.items() if node in asked}
        for node, went_well in ran.items():
            before = self._failing.pop(node, None)
            if not went_well:
                times = 1 if before is None else before.times + 1
                wait = self.period * 2 ** min(times - 1, _DOUBLINGS)
                again = self.due + min(wait, max(LONGEST, self.period))
                self._failing[node] = _Failing(times, again)
        self.rounds += 1
        self.failures += not is_well
        self.due += self.period
        if self.due <= now:
            self.overran += 1
            # One follows, however many were missed; what is due for longer goes first.
            self.due = now


def next_of(turns: Iterable[Turn]) -> Turn:
    """The one that is due for longest; of those that are due together the first one."""
    return min(turns, key=lambda one: one.due)
