"""Whether a version of a candidate may be shown to readers: what stops it, and what is newer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from alluvium.wording import needs

RESTORED = "the table was restored to an earlier one"


@dataclass(frozen=True)
class Audit:
    """What one look tells of a version of a candidate, and of the table that is to show it.

    Attributes:
        head: the version that readers see; None before the first publish.
        is_newest: whether the candidate has no newer version.
        is_other: whether it is another table than the one that was tested.
        is_behind: whether readers see a newer version of this table.
        is_lost: whether its log has that newer version no more.
        is_held: whether a checkout holds what they see.
        is_foreign: whether the published table has rows that no publish brought.
        undid: whether the candidate was restored to an earlier version; None for unknown.
        mistakes: what stops each version of the candidate.
        missing: files and vectors that would come, and that are gone.
    """

    head: int | None
    is_newest: bool
    is_other: bool
    is_behind: bool
    is_lost: bool
    is_held: bool
    is_foreign: bool
    undid: bool | None
    mistakes: Sequence[str]
    missing: Sequence[str]

    def refusals(self, source: str, target: str) -> list[str]:
        """Why the candidate cannot be published, whatever its version."""
        found = []
        if self.is_foreign:
            found.append(
                f"{target} is there with rows that no publish brought. Nothing was changed."
                " Accepted: to rename or drop that table, or another alias"
            )
        if self.mistakes:
            found.append(f"{source} cannot be published: " + "; ".join(self.mistakes))
        return found

    def stays(self, *, ends_hold: bool) -> Iterator[str]:
        """Why a version is not to be shown, whatever its tests said.

        A slow run comes with a version that others have left behind since. What was written over is
        shown, for it passed its tests, and a writer that is faster than they may not stop that for
        ever. What was undone is not, nor what is older than readers see, nor what is not whole.

        Args:
            ends_hold: whether a version that a checkout holds is moved on.
        """
        if self.is_other:
            yield "the table was dropped and made again since"
        if self.is_held and self.head is not None and not ends_hold:
            yield f"a checkout holds version {self.head:,}"
        if self.is_behind:
            lost = " (lost since: alluvium.recover helps)" if self.is_lost else ""
            yield f"version {self.head:,} is already{lost}"
        if self.undid is not False:
            yield f"{RESTORED} since"
        if self.missing:
            yield f"it {needs(self.missing)}"
