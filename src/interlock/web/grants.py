"""What approvals became and can still be used: listed with how often each was, and revoked at once.

Nothing here gives anything: a grant comes from an approval, and only a call uses it.
"""

from dataclasses import dataclass

from fastapi import Response

from interlock import errors
from interlock.core.grants import Grant
from interlock.core.toolbook import nearest
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.parts import Here, Who
from interlock.web.problems import Refusal


@dataclass(frozen=True, slots=True)
class ShownGrant:
    """A grant. `digest` is that of the arguments it was given for, which only the scope `tool` looks beyond.

    `uses_left` is null when it may be used any number of times until it expires.
    """

    id: str
    approval_id: str
    caller: str
    server: str
    tool: str
    scope: str
    digest: str
    tool_fingerprint: str
    safety_class: str
    workspace_id: str | None
    given_by: list[str]
    created_at: str
    expires_at: str
    uses: int
    uses_left: int | None


@dataclass(frozen=True, slots=True)
class GrantList:
    items: list[ShownGrant]
    total: int


@dataclass(frozen=True, slots=True)
class RevokedGrant:
    id: str
    revoked_at: str


async def list_grants(here: Here) -> Response:
    """List the grants that can still be used, oldest first."""
    items = [_shown(each) for each in await here.store.approvals.live_grants()]
    return json_answer(GrantList(items, len(items)))


async def revoke_grant(grant_id: str, here: Here, who: Who) -> Response:
    """Revoke a grant. The next call that would need it waits for an approval again."""
    now = here.clock.now()
    if await here.room.register.revoke(grant_id, who.name) is None:
        known = [each.id for each in here.room.register.board.grants()]
        raise Refusal(errors.NOT_FOUND(what=f"Grant '{grant_id[:100]}'", suggestion=nearest(grant_id, known)))
    return json_answer(RevokedGrant(grant_id, times.iso(now)))


def _shown(grant: Grant) -> ShownGrant:
    key = grant.key
    return ShownGrant(
        id=grant.id,
        approval_id=grant.approval,
        caller=key.caller,
        server=key.server,
        tool=key.tool,
        scope=grant.scope.value,
        digest=key.digest,
        tool_fingerprint=key.fingerprint,
        safety_class=key.safety_class,
        workspace_id=key.workspace,
        given_by=list(grant.given_by),
        created_at=times.iso(grant.created_at),
        expires_at=times.iso(grant.expires_at),
        uses=grant.uses,
        uses_left=grant.uses_left,
    )
