"""What waits for approval, as a reviewer goes through it: in the order of asking, with one chosen to look at.

The chosen one changes only by the reviewer's hand: what is answered elsewhere, and what is answered here, stays where
it is until the reviewer moves on. A key that was meant for one call can so never meet another.

This module refuses to know terminals, keys and the gateway.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, TypeAlias

from interlock.cli.watching.follow import MOST, Happened, Waiting

Approval: TypeAlias = Mapping[str, Any]


class Change(Enum):
    """What news mean for those who look."""

    ARRIVED = auto()
    ENDED = auto()
    NOTHING = auto()


class Queue:
    """The approvals that are shown."""

    def __init__(self) -> None:
        self._known: dict[str, Approval] = {}
        self.total = 0
        """How many wait in all; more than are known, when they are very many."""
        self._chosen: str | None = None

    @property
    def items(self) -> list[Approval]:
        """Those that are shown, in the order of asking: an id begins with the time."""
        return [self._known[each] for each in sorted(self._known)]

    @property
    def chosen(self) -> Approval | None:
        return None if self._chosen is None else self._known[self._chosen]

    @property
    def position(self) -> int:
        """Where the chosen one stands; 0 when there is none."""
        return 0 if self._chosen is None else sorted(self._known).index(self._chosen)

    @property
    def unseen(self) -> int:
        """How many wait that are not shown."""
        return max(self.total - sum(_waits(each) for each in self._known.values()), 0)

    @property
    def wants_more(self) -> bool:
        """Whether so few are left that those which are not shown should be asked for."""
        return bool(self.unseen) and len(self._known) <= MOST // 2

    def begin(self, waiting: Waiting) -> bool:
        """Take up what waits now; whether any of it is new."""
        before = set(self._known)
        # What was chosen stays, even if it does not wait any more: what became of it will be told.
        kept = [] if self.chosen is None else [self.chosen]
        self._known = {each["id"]: each for each in (*kept, *waiting.items)}
        self.total = waiting.total
        self._choose_first()
        return not before.issuperset(self._known)

    def take(self, news: Happened) -> Change:
        """Take up what happened to one approval."""
        approval = news.approval
        if approval["id"] in self._known:
            return self.answered(approval)
        if not _waits(approval):
            self.total -= bool(self.unseen)
            return Change.NOTHING
        self.total += 1
        if len(self._known) >= MOST:
            return Change.NOTHING  # counted, and shown when there is room
        self._known[approval["id"]] = approval
        self._choose_first()
        return Change.ARRIVED

    def answered(self, approval: Approval) -> Change:
        """An approval does not wait any more, or has one vote more."""
        before = self._known.get(approval["id"])
        if before is None or not _waits(before):
            return Change.NOTHING
        if _waits(approval):
            self._known[approval["id"]] = approval
            return Change.NOTHING
        self.total -= 1
        if approval["id"] == self._chosen:
            self._known[approval["id"]] = approval
        else:
            del self._known[approval["id"]]
        return Change.ENDED

    def move(self, step: int) -> None:
        """Choose the one that stands so many places further, if there is one."""
        order = sorted(self._known)
        if self._chosen is not None:
            self.choose(order[min(max(self.position + step, 0), len(order) - 1)])

    def choose(self, approval_id: str) -> None:
        """Choose one; the one before is forgotten if it does not wait any more."""
        before = self.chosen
        if before is not None and before["id"] != approval_id and not _waits(before):
            del self._known[before["id"]]
        self._chosen = approval_id

    def _choose_first(self) -> None:
        if self._chosen is None:
            self._chosen = min(self._known, default=None)


def _waits(approval: Approval) -> bool:
    return approval["status"] == "pending"
