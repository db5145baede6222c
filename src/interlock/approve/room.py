"""The parts of the waiting room, put together once for everybody who needs one of them."""

from collections.abc import Callable
from dataclasses import dataclass

from interlock.approve.approvers import Approvers
from interlock.approve.desk import Desk
from interlock.approve.freezer import Freezer
from interlock.approve.register import Register
from interlock.clock import Clock
from interlock.core.redact import KnownSecrets
from interlock.store.protocol import Store


@dataclass(frozen=True, slots=True)
class Room:
    """Where calls wait (desk), who answers for them (approvers), what is on the books (register), and the stop."""

    register: Register
    desk: Desk
    approvers: Approvers
    freezer: Freezer

    async def load(self) -> int:
        """Take up what is in the store; returns how many approvals a gateway that is gone had left behind."""
        await self.freezer.load()
        return await self.register.load()


def room_in(store: Store, clock: Clock, secrets: Callable[[], KnownSecrets]) -> Room:
    """A waiting room whose books are in this store."""
    register = Register(store.approvals, clock, store.write)
    desk, approvers = Desk(register, clock, secrets), Approvers(register, clock, secrets)
    return Room(register, desk, approvers, Freezer(store.approvals, clock))
