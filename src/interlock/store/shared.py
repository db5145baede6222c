"""What gateways on one store need to know of each other: who lives, what has changed, and what the dead have left.

A store that only one gateway can use has none of this. Nothing here decides: that a gateway is gone is found by whoever
looks, and each change of a row is compared and set as ever.

This module refuses to know a database.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from interlock.core.approvals import Approval
from interlock.core.grants import Grant, GrantKey
from interlock.core.model import Micros
from interlock.store.approvals import Crowd
from interlock.store.protocol import Activity, StoreUnavailable

LEASE: Micros = 4_000_000
"""For how long the beat of a gateway may stand still before others take it for dead."""
BEAT: Micros = 1_000_000
"""How often it beats, if it can."""
NEXT_BEAT: Micros = 8 * BEAT // 5
"""Within which one that lives has beaten once more: it looks now and then, and beats when that is due."""
IN_TOUCH: Micros = LEASE - BEAT
"""For how long after a look a gateway may act: whatever it did then, nobody takes it for dead sooner."""


class Twin(StoreUnavailable):
    """Another gateway, which lives, goes on with the log of ours."""

    def __init__(self) -> None:
        super().__init__(
            "A gateway that runs elsewhere goes on with the log of this data folder, so the folder is a copy."
            " Each gateway needs one of its own: begin with an empty folder, or end the other gateway"
        )


class Kind(StrEnum):
    """What all gateways know, by kinds that are looked at anew together."""

    APPROVAL = "approval"
    GRANT = "grant"
    FREEZE = "freeze"
    TOKEN = "token"  # noqa: S105 - a word, no secret
    REVIEW = "review"
    OVERRIDE = "override"
    SERVER = "server"


class Run(Struct, frozen=True):
    """One run of a gateway that has not ended. Its beat goes on while it lives."""

    name: str
    chain: str
    beat: int


class Look(Struct, frozen=True):
    """What one look at the store showed."""

    ours: bool
    """Whether our run has not ended: nobody has taken us for dead."""
    changes: Mapping[Kind, int]
    """The number of the last change of each kind."""
    others: Sequence[Run]
    """The runs of other gateways that have not ended, as far as anybody knows."""


class Left(Struct, frozen=True):
    """What gateways that are gone have left: questions that nobody waits with, and calls without an outcome."""

    approvals: Sequence[str]
    calls: Sequence[Activity]


class Shared(Protocol):
    """Every method may raise StoreUnavailable."""

    async def has_twin(self) -> bool:
        """Whether a run of this gateway's chain goes on elsewhere. Waits for its next beat, if there is one that has
        not ended: after a crash, and never else."""
        ...

    async def begin(self, run: str) -> Look:
        """Begin a run of this gateway, which ends all others that it had: there is one at a time."""
        ...

    async def end(self, run: str) -> None:
        """End a run in order: it leaves nothing behind."""
        ...

    async def look(self, run: str, *, beat: bool) -> Look:
        """See what is new; with a beat the others see that we live."""
        ...

    async def told(self, seconds: float) -> None:
        """Wait until another gateway has changed something, or for so long. What is told may be lost."""
        ...

    async def take_over(self, gone: Run, run: str) -> bool:
        """End the run of a gateway whose beat stands still; False when it does not, or somebody was faster."""
        ...

    async def left(self, chains: Sequence[str]) -> Left:
        """What is left by runs that have ended, once the last write to these chains is over."""
        ...

    async def settle(self, call: Activity) -> bool:
        """Write what became of a call, if it has no outcome still."""
        ...

    async def changed_approvals(self, after: int) -> Sequence[Approval]:
        """Approvals that have changed after a number, in that order."""
        ...

    async def changed_grants(self, after: int) -> Sequence[Grant]:
        """Grants that were given, spent or revoked after a number, in that order."""
        ...

    async def crowd(self, caller: str) -> Crowd:
        """How many approvals wait, at whichever gateways."""
        ...

    async def waiting(self, key: GrantKey) -> Approval | None:
        """The approval that waits for this very call, at whichever gateway."""
        ...
