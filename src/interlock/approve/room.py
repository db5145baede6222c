"""The parts of the waiting room, put together once for everybody who needs one of them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from msgspec import structs

from interlock.approve.approvers import Approvers
from interlock.approve.desk import Desk
from interlock.approve.freezer import Freezer
from interlock.approve.lease import Lease
from interlock.approve.register import RESTARTED, Peers, Register
from interlock.clock import Clock
from interlock.core.lifecycle import ApprovalEvent, CallState
from interlock.core.redact import KnownSecrets
from interlock.store.protocol import Store
from interlock.store.shared import Kind


@dataclass(frozen=True, slots=True)
class Room:
    """Where calls wait (desk), who answers for them (approvers), what is on the books (register), and the stop; and,
    where other gateways share the books, those."""

    register: Register
    desk: Desk
    approvers: Approvers
    freezer: Freezer
    peers: Peers | None = None

    async def load(self) -> int:
        """Take up what is in the store; returns how many approvals a gateway that is gone had left behind."""
        await self.freezer.load()
        return await self.register.load()

    async def settle(self, chains: Sequence[str] = ()) -> None:
        """Settle what gateways that are gone have left: for what they waited with nobody waits any more, and what came
        of the calls that they had sent is not known."""
        assert self.peers is not None  # noqa: S101 - there are no others where a gateway is alone
        left = await self.peers.shared.left(chains)
        await self.register.end_all(left.approvals, ApprovalEvent.CANCEL, RESTARTED)
        for each in left.calls:
            await self.peers.shared.settle(structs.replace(each, status=CallState.INDETERMINATE))

    def kept_in_step(self) -> dict[Kind, Callable[[int], Awaitable[None]]]:
        """How to take up what others have changed of all this. Grants come first: whoever is woken by a yes needs its
        grant."""
        assert self.peers is not None  # noqa: S101 - as above
        shared = self.peers.shared

        async def grants(after: int) -> None:
            self.register.take_up_grants(await shared.changed_grants(after))

        async def approvals(after: int) -> None:
            await self.register.take_up(await shared.changed_approvals(after))

        async def freezes(after: int) -> None:
            await self.freezer.load()

        return {Kind.FREEZE: freezes, Kind.GRANT: grants, Kind.APPROVAL: approvals}


def room_in(store: Store, clock: Clock, secrets: Callable[[], KnownSecrets], lease: Lease | None = None) -> Room:
    """A waiting room whose books are in this store. With a lease, other gateways have theirs there too."""
    peers = None if lease is None or store.shared is None else Peers(store.shared, lease)
    register = Register(store.approvals, clock, store.write, peers)
    desk, approvers = Desk(register, clock, secrets), Approvers(register, clock, secrets)
    return Room(register, desk, approvers, Freezer(store.approvals, clock, lease), peers)
