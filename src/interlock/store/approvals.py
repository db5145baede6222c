"""What every store can do for the desk: approvals, the grants they become, and what is stopped.

Apart from the log because it is another idea: rows that are compared and set, where the log only grows. Each change
is in one transaction with the activity that tells of it, and each says whether it was the one that counted.

This module refuses to know a database; times are compared in the clock of the store, when it writes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from msgspec import Struct

from interlock.core.approvals import Approval
from interlock.core.freezes import Freeze, Frozen
from interlock.core.grants import Grant
from interlock.core.lifecycle import ApprovalState
from interlock.core.model import Micros
from interlock.store.protocol import Activity


@dataclass(frozen=True, slots=True)
class ApprovalFilter:
    """What to list. None means any."""

    status: ApprovalState | None = None
    workspace: str | None = None
    session_id: str | None = None
    not_of: str | None = None
    """Leave out what this principal asked for."""
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, slots=True)
class ApprovalPage:
    """Approvals, newest first, and how many there are in all."""

    items: tuple[Approval, ...]
    total: int


class Crowd(Struct, frozen=True):
    """How many approvals wait, or may: of one caller, and in all."""

    own: int
    total: int

    def fills(self, most: "Crowd") -> bool:
        """Whether there is room for none more."""
        return self.own >= most.own or self.total >= most.total


class Stretch(Struct, frozen=True):
    """How many approvals that were asked for in one stretch of time ended how, and how long those that somebody
    answered had waited in sum."""

    at: Micros
    status: ApprovalState
    count: int
    waited: Micros


@dataclass(frozen=True, slots=True)
class ApprovalFigures:
    """Approvals of a while, by stretches of time. `waits` are how long those that were answered had waited, shortest
    first, as many as anybody should look at."""

    stretches: tuple[Stretch, ...]
    waits: tuple[Micros, ...]


class Approvals(Protocol):
    """Every method may raise StoreUnavailable; methods that write return when the write is durable."""

    async def add_approval(self, approval: Approval, why: Activity, most: Crowd | None = None) -> bool:
        """Add a question; False when the same call is asked about already, or when as many wait as may: then nothing is
        written. Only where others add questions too need the store be told how many those are."""
        ...

    async def get_approval(self, approval_id: str) -> Approval | None:
        """One approval, by its id."""
        ...

    async def list_approvals(self, wanted: ApprovalFilter) -> ApprovalPage:
        """Approvals that match, newest first."""
        ...

    async def last_approved(self, server: str, tool: str, before: Micros, but: str) -> Approval | None:
        """The call of a tool that was approved last before some time, by whomever; another one than `but`."""
        ...

    async def change_approval(self, changed: Approval, why: Activity, grant: Grant | None = None) -> bool:
        """Compare and set: take the next version of a pending approval, and the grant that it became.

        False when somebody was faster, when its time is over (or, for a timeout, is not), and then nothing is written.
        """
        ...

    async def mark_answered(self, approval_id: str) -> bool:
        """Remember that the caller was told to come again; False when it is not pending any more."""
        ...

    async def figures(self, since: Micros, width: Micros) -> ApprovalFigures:
        """Count the approvals that were asked for since then, by stretches of time of this width."""
        ...

    async def live_grants(self) -> Sequence[Grant]:
        """Grants that can still be used, oldest first."""
        ...

    async def get_grant(self, approval_id: str) -> Grant | None:
        """The grant that an approval became, used or not. One whose only call is known not to have left is unused."""
        ...

    async def use_grant(self, grant_id: str, call: Activity) -> bool:
        """Use a grant for a call, in one transaction with the record of that call; False when it cannot be used any
        more, and then nothing is written."""
        ...

    async def revoke_grant(self, grant_id: str, at: Micros, why: Activity) -> bool:
        """Revoke a grant once; False when there is nothing left to revoke, and then nothing is written."""
        ...

    async def freezes(self) -> Mapping[Frozen, Freeze]:
        """What is stopped."""
        ...

    async def put_freeze(self, what: Frozen, freeze: Freeze | None, why: Activity) -> None:
        """Stop something, or let it go on (None), in one transaction with the activity that tells of it."""
        ...
