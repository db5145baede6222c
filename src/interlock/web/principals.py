"""`GET /principals`: who may act here, what each has in hand, and when it was last seen.

Put together from tokens, grants, what waits and the record. No secret and no token is in it: those are for admins.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fastapi import Response

from interlock.core.freezes import FreezeKind, Frozen
from interlock.core.lineage import ELSEWHERE
from interlock.core.model import Micros
from interlock.receive.identify import LOCAL, OPERATOR, OPERATOR_AGENT, ROLES, Principal, TokenScope, scope_of
from interlock.store.protocol import Tally, TallyBy, Token
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.parts import Here, Parts

DAY: Micros = 86_400_000_000
OUTSIDE = "outside"
"""The kind of somebody whom only an issuer elsewhere knows."""
_NEVER = Tally(0, None)


@dataclass(frozen=True, slots=True)
class ShownPrincipal:
    """Somebody who may act here, or could before its tokens were revoked.

    `roles` are those of its live tokens; `last_seen` is when something of it was last put on record, and reading is
    not. `frozen` also when everything is.
    """

    name: str
    kind: str
    owner: str | None
    roles: list[str]
    live_tokens: int
    last_seen: str | None
    pending_approvals: int
    live_grants: int
    calls_24h: int
    frozen: bool


@dataclass(frozen=True, slots=True)
class PrincipalList:
    items: list[ShownPrincipal]
    total: int


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a principal from its credentials."""

    kind: str
    owner: str | None
    roles: frozenset[str]
    tokens: int


async def list_principals(here: Here) -> Response:
    """List who may act here, with what each has in hand."""
    now = here.clock.now()
    tallies = await here.store.tallies(TallyBy.CALLER, now - DAY)
    grants = Counter(each.key.caller for each in await here.store.approvals.live_grants())
    known = _ours(here) | _by_tokens(await here.store.list_tokens(), now)
    outside = {name: _Known(OUTSIDE, None, frozenset(), 0) for name in tallies if name.startswith(ELSEWHERE)}
    everybody = {**outside, **known}
    items = [_shown(name, everybody[name], tallies, grants, here) for name in sorted(everybody)]
    return json_answer(PrincipalList(items, len(items)))


def _ours(here: Parts) -> dict[str, _Known]:
    """The principals that need no token: the operator's agent, and whoever is on this machine, where that is let in."""
    agent = frozenset({"agent"})
    found = {OPERATOR_AGENT: _Known("agent", OPERATOR, agent, 0)}
    if isinstance(here.callers.identify(None), Principal):
        found[LOCAL] = _Known("agent", None, agent, 0)
    return found


def _by_tokens(tokens: Iterable[Token], now: Micros) -> dict[str, _Known]:
    """Each principal by its tokens, oldest first: what the newest says counts."""
    found: dict[str, _Known] = {}
    for token in tokens:
        before = found.get(token.principal, _Known(token.kind, None, frozenset(), 0))
        scope = _readable(token)
        over = token.revoked_at is not None or (token.expires_at is not None and now >= token.expires_at)
        if scope is None or over:
            owner = before.owner if scope is None else before.owner or scope.owner
            found[token.principal] = _Known(token.kind, owner, before.roles, before.tokens)
        else:
            roles = before.roles | frozenset(token.roles)
            found[token.principal] = _Known(token.kind, scope.owner, roles, before.tokens + 1)
    return found


def _readable(token: Token) -> TokenScope | None:
    """The scope of a token; None when it cannot be read, and then the token is accepted nowhere."""
    try:
        return scope_of(token)
    except ValueError:
        return None


def _shown(
    name: str, known: _Known, tallies: Mapping[str, Tally], grants: Mapping[str, int], here: Parts
) -> ShownPrincipal:
    tally, stopped = tallies.get(name, _NEVER), here.room.freezer.in_force
    return ShownPrincipal(
        name=name,
        kind=known.kind,
        owner=known.owner,
        roles=[role for role in ROLES if role in known.roles],
        live_tokens=known.tokens,
        last_seen=times.iso_or_none(tally.last),
        pending_approvals=here.room.register.board.count(name),
        live_grants=grants.get(name, 0),
        calls_24h=tally.calls,
        frozen=Frozen(FreezeKind.ALL) in stopped or Frozen(FreezeKind.CALLER, name) in stopped,
    )
