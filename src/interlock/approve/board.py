"""What the desk knows without asking the store: which calls wait, which grants are good, what was just denied.

Every call passes by here, so it is dictionaries and nothing waits. It is a copy, and never the last word: an approval
is answered and a grant used in the store, and this only says who has to be asked or woken. What callers choose the
size of is not kept here.
"""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct

from interlock.core.approvals import withheld
from interlock.core.decide import Waiting
from interlock.core.grants import Grant, GrantKey
from interlock.core.lifecycle import ApprovalState
from interlock.core.model import Call, Micros

MAX_PENDING = 10_000
"""How many calls may wait in all."""
DENIAL_MEMORY: Micros = 60_000_000
"""How long a denied call is denied without asking again."""
MAX_DENIALS = 10_000

_Place: TypeAlias = tuple[str, str, str]
"""Caller, server and tool."""
_Exactly: TypeAlias = tuple[str, str, str, str]
"""The same, and the digest of the arguments."""


class Resolved(Struct, frozen=True):
    """What those who wait for an approval are told."""

    status: ApprovalState
    resolution: str
    grant: Grant | None = None


class Pending:
    """An approval that waits, and who waits for it."""

    __slots__ = (
        "answered",
        "callers",
        "created_at",
        "expires_at",
        "gateway",
        "id",
        "kept",
        "key",
        "resolved",
        "to_end",
        "waiters",
    )

    def __init__(
        self,
        approval_id: str,
        key: GrantKey,
        expires_at: Micros,
        *,
        created_at: Micros = 0,
        answered: bool = False,
        kept: bool = False,
        gateway: str = "",
    ) -> None:
        self.id = approval_id
        self.key = key
        self.created_at = created_at
        self.expires_at = expires_at
        self.answered = answered
        self.gateway = gateway
        """The run of the gateway that asked."""
        self.kept = kept
        """Whether it is known to have a row: it is here before that."""
        self.to_end: str | None = None
        """Why it is to be cancelled as soon as it has a row, if it is."""
        self.callers = 0
        """How many calls wait for it: when none is left it is cancelled, unless somebody was told to come again."""
        self.waiters: dict[asyncio.Future[None], None] = {}
        """Woken when there is something to see: those calls, and whoever else wants to know."""
        self.resolved: Resolved | None = None

    def wake(self, resolved: Resolved) -> None:
        """Tell all who wait. What was told first stands."""
        if self.resolved is None:
            self.resolved = resolved
        for waiter in tuple(self.waiters):  # in the order in which they came
            if not waiter.done():
                waiter.set_result(None)


class Known(Struct, frozen=True):
    """What a decision about a call may depend on."""

    waiting: tuple[Waiting, ...] = ()
    grants: tuple[Grant, ...] = ()
    recent_denial: str | None = None
    pending_count: int = 0
    full: bool = False

    def was_asked(self, call: Call) -> bool:
        """Whether somebody is asked about this very call already, or was and said yes to it."""
        return bool(self.waiting) or any(
            each.approval == call.approval_id or (each.uses_left is not None and each.key.digest == call.digest)
            for each in self.grants
        )


_NOTHING = Known()


class Board:
    """The copy. `may_still` says whether a principal may still give its word."""

    def __init__(self, may_still: Callable[[str], bool] = lambda name: True) -> None:
        self.may_still = may_still
        self._pending: dict[str, Pending] = {}
        self._at: defaultdict[_Place, list[Pending]] = defaultdict(list)
        self._counts: Counter[str] = Counter()
        self._grants: defaultdict[_Place, dict[str, Grant]] = defaultdict(dict)
        self._by_id: dict[str, Grant] = {}
        self._denied: dict[_Exactly, tuple[Micros, str]] = {}
        self._denials: deque[tuple[Micros, _Exactly]] = deque()

    # For decisions ----------------------------------------------------------------------------------------------

    def known(self, call: Call, now: Micros) -> Known:
        """What is known of a call before it is decided about."""
        if not self._pending and not self._grants and not self._denied:
            return _NOTHING
        caller = call.caller.name
        place = (caller, call.server, call.tool)
        return Known(
            tuple(Waiting(each.id, each.key) for each in self._at.get(place, ()) if each.key.digest == call.digest),
            tuple(each for each in self._grants.get(place, {}).values() if not withheld(each, self.may_still)),
            self._recent_denial((*place, call.digest), now),
            self._counts[caller],
            len(self._pending) >= MAX_PENDING,
        )

    # Approvals that wait ----------------------------------------------------------------------------------------

    def add(self, pending: Pending) -> None:
        self._pending[pending.id] = pending
        self._at[_place(pending.key)].append(pending)
        self._counts[pending.key.caller] += 1

    def remove(self, pending: Pending) -> None:
        """Forget an approval that does not wait any more."""
        if self._pending.pop(pending.id, None) is None:
            return
        place = _place(pending.key)
        self._at[place].remove(pending)
        if not self._at[place]:
            del self._at[place]
        self._counts[pending.key.caller] -= 1
        if not self._counts[pending.key.caller]:
            del self._counts[pending.key.caller]

    def find(self, approval_id: str) -> Pending | None:
        return self._pending.get(approval_id)

    def same(self, key: GrantKey) -> Pending | None:
        """The approval that waits for this very call."""
        return next((each for each in self._at.get(_place(key), ()) if each.key == key), None)

    def count(self, caller: str) -> int:
        return self._counts[caller]

    def longest_wait(self, now: Micros) -> Micros:
        """How long the oldest has waited; nought when none does."""
        return max(0, now - min((each.created_at for each in self._pending.values()), default=now))

    def __len__(self) -> int:
        return len(self._pending)

    def __iter__(self) -> Iterator[Pending]:
        return iter(tuple(self._pending.values()))

    # Grants -----------------------------------------------------------------------------------------------------

    def grant(self, grant: Grant) -> None:
        """Know a grant, as it is now."""
        self._by_id[grant.id] = self._grants[_place(grant.key)][grant.id] = grant

    def drop_grant(self, grant: Grant) -> None:
        """A grant is spent or revoked."""
        place = _place(grant.key)
        self._by_id.pop(grant.id, None)
        self._grants[place].pop(grant.id, None)
        if not self._grants[place]:
            del self._grants[place]

    def grants(self) -> tuple[Grant, ...]:
        return tuple(self._by_id.values())

    def find_grant(self, grant_id: str) -> Grant | None:
        return self._by_id.get(grant_id)

    # Denials ----------------------------------------------------------------------------------------------------

    def denied(self, key: GrantKey, resolution: str, at: Micros) -> None:
        """Remember that a call was denied."""
        exactly = (*_place(key), key.digest)
        if self._denied.get(exactly, (None, ""))[0] == at:
            return  # it is known, and was heard of from another gateway once more
        self._denied[exactly] = at, resolution
        self._denials.append((at, exactly))
        while len(self._denials) > MAX_DENIALS:
            self._forget_oldest_denial()

    def tidy(self, now: Micros) -> None:
        """Forget what is over: denials of a while ago, and grants whose time has passed."""
        while self._denials and self._denials[0][0] <= now - DENIAL_MEMORY:
            self._forget_oldest_denial()
        for each in self.grants():
            if each.expires_at <= now:
                self.drop_grant(each)

    def _forget_oldest_denial(self) -> None:
        at, exactly = self._denials.popleft()
        if self._denied.get(exactly, (None, ""))[0] == at:  # else it was denied again meanwhile
            del self._denied[exactly]

    def _recent_denial(self, exactly: _Exactly, now: Micros) -> str | None:
        at, resolution = self._denied.get(exactly, (None, ""))
        return None if at is None or now - at >= DENIAL_MEMORY else resolution


def _place(key: GrantKey) -> _Place:
    return key.caller, key.server, key.tool
