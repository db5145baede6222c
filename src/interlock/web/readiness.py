"""Whether the gateway is ready, and with `?verbose` how its servers, its store and its approvers are.

Ready is what it has always been: a server can be reached, or there is none to reach. A store that failed and a gate
that nobody watches are said aloud and change nothing about it: a gateway that is sent no calls any more would never
find out that its store has recovered. One that shares its store with others is another matter: it looks there by
itself, and as long as it cannot, it refuses every call, which others may be able to serve.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from interlock import errors
from interlock.core.health import Health, UpstreamState
from interlock.core.model import Caller
from interlock.store.protocol import StoreUnavailable
from interlock.web.parts import Parts

_ANYBODY = Caller("anybody")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    text: str


@dataclass(frozen=True, slots=True)
class Readiness:
    ready: bool
    checks: list[Check]


def is_ready(parts: Parts) -> bool:
    """Whether calls can be served."""
    peers = parts.room.peers
    return (peers is None or peers.lease.holds) and has_servers(parts.upstreams.states())


def has_servers(states: Sequence[UpstreamState]) -> bool:
    """Whether a server can be reached, or there is none to reach."""
    return not states or any(each.health is Health.READY for each in states)


async def readiness(parts: Parts) -> Readiness:
    """Whether the gateway is ready, and how everything is that this depends on."""
    states = parts.upstreams.states()
    return Readiness(is_ready(parts), [_servers(states), await _store(parts), _approvals(parts)])


def _servers(states: Sequence[UpstreamState]) -> Check:
    ready = sum(each.health is Health.READY for each in states)
    text = f"{ready} of {len(states)} servers are ready." if states else "There are no servers."
    return Check("servers", ready == len(states), text)


async def _store(parts: Parts) -> Check:
    try:
        await parts.store.log_end()
    except StoreUnavailable:
        return Check("store", False, "The store cannot be read.")
    if parts.store.ailing:
        return Check("store", False, "The last write to the store failed.")
    return Check("store", True, "The store can be read, and the last write succeeded.")


def _approvals(parts: Parts) -> Check:
    waiting, listening = len(parts.room.register.board), parts.listening()
    if listening:
        return Check("approvals", True, f"{waiting} calls wait for approval; {' and '.join(listening)}.")
    if not waiting and not _may_hold(parts):
        return Check("approvals", True, "No call would wait for approval.")
    reason = errors.NOBODY_LISTENS()
    return Check("approvals", False, f"{waiting} calls wait for approval. {reason.text} {reason.fix}")


def _may_hold(parts: Parts) -> bool:
    policy = parts.pipeline.policy
    return any(policy.may_hold(_ANYBODY, each) for each in parts.pipeline.book)
