"""Tokens: issued once, listed without their secrets, revoked at once.

What a token says of its principal must stay true: a name is never two kinds of somebody, our own names are never given
away, and who made a token is written down whatever owner it is given. Each change is on record in the same transaction,
and it counts before it is answered.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field

from interlock import errors
from interlock.core.globs import compile_glob
from interlock.core.model import Micros, OperationType
from interlock.core.toolbook import nearest
from interlock.errors import Reason
from interlock.receive.identify import (
    NAME,
    OPERATOR,
    RESERVED_NAMES,
    ROLES,
    TokenScope,
    default_kind,
    mint,
    scope_of,
)
from interlock.record import token_change
from interlock.store.protocol import Token
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.parts import Here, Who
from interlock.web.problems import Refusal


@dataclass(frozen=True, slots=True)
class ShownToken:
    """A token without its secret. `servers`, `tools` and `ceiling` are null where there is no limit."""

    id: str
    name: str
    kind: str
    roles: list[str]
    owner: str | None
    minted_by: str | None
    label: str | None
    workspace_id: str | None
    servers: list[str] | None
    tools: list[str] | None
    ceiling: str | None
    created_at: str
    expires_at: str | None
    revoked_at: str | None


@dataclass(frozen=True, slots=True)
class IssuedToken(ShownToken):
    """A new token. `token` is its text, which is shown this once and stored nowhere."""

    token: str


@dataclass(frozen=True, slots=True)
class TokenList:
    items: list[ShownToken]
    total: int


@dataclass(frozen=True, slots=True)
class RevokedToken:
    id: str
    revoked_at: str


class WantedToken(BaseModel):
    """A token to issue. It lasts for ever unless `ttl` or `expires_at` says otherwise."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(pattern=f"^{NAME}$", description="The principal; several tokens may belong to one.")
    roles: list[Literal["agent", "approver", "auditor", "admin"]] = Field(min_length=1)
    kind: Literal["human", "agent", "service"] | None = Field(
        default=None, description="By default agent for who has the role agent, else human."
    )
    owner: str | None = Field(default=None, description="A principal; by default the one who asks.")
    workspace_id: str | None = Field(default=None, min_length=1, max_length=200)
    servers: list[str] | None = Field(default=None, max_length=1000, description="Globs; null means all.")
    tools: list[str] | None = Field(default=None, max_length=1000, description="Globs; null means all.")
    ceiling: Literal["read", "write", "destructive"] | None = None
    label: str | None = Field(default=None, max_length=200, description="For display, such as the model behind it.")
    ttl: str | None = Field(default=None, description="How long it lasts: 15m, 12h, 30d.")
    expires_at: str | None = Field(default=None, description="Or until when, as ISO 8601.")


async def list_tokens(here: Here) -> Response:
    """List all tokens, revoked ones included, oldest first."""
    items = [_shown(each) for each in await here.store.list_tokens()]
    return json_answer(TokenList(items, len(items)))


async def create_token(wanted: WantedToken, here: Here, who: Who) -> Response:
    """Issue a token. Its text is in the answer and never shown again."""
    now = here.clock.now()
    async with here.callers.changes:
        refused = _refusal(wanted, who.name, await here.store.list_tokens(), here.workspaces.names)
        if refused is not None:
            raise Refusal(refused)
        expires_at = _expiry(wanted, now)
        roles = [role for role in ROLES if role in wanted.roles]
        kind = wanted.kind or default_kind(roles)
        token, text = mint(
            wanted.name, kind, roles, now, expires_at, _scope(wanted, who.name, by_person=here.callers.is_vouched(who))
        )
        if not await here.store.add_token(token, token_change(token, "created", who.name, now)):
            # Another gateway has made one of it since we looked.
            raise Refusal(_other_kind(wanted.name, kind, await here.store.list_tokens()))
        here.callers.add(token)
    return json_answer({**asdict(_shown(token)), "token": text}, 201)


async def revoke_token(token_id: str, here: Here, who: Who) -> Response:
    """Revoke a token. The next request that brings it is refused."""
    now = here.clock.now()
    async with here.callers.changes:
        tokens = {each.id: each for each in await here.store.list_tokens()}
        token = tokens.get(token_id)
        if token is None:
            raise Refusal(errors.NOT_FOUND(what=f"Token '{token_id[:100]}'", suggestion=nearest(token_id, [*tokens])))
        if not await here.store.revoke_token(token.id, now, token_change(token, "revoked", who.name, now)):
            raise Refusal(errors.TOKEN_REVOKED_BEFORE(id=token.id, at=times.iso(token.revoked_at or now)))
        # INVARIANT: a revocation counts before it is answered.
        here.callers.drop(token.id)
    return json_answer(RevokedToken(token.id, times.iso(now)))


# What may be issued ---------------------------------------------------------------------------------------------


def _refusal(wanted: WantedToken, by: str, known: Sequence[Token], workspaces: Collection[str]) -> Reason | None:
    """Why this token may not exist next to the known ones; None when it may."""
    if wanted.name in RESERVED_NAMES:
        return errors.NAME_RESERVED(name=wanted.name)
    kinds = {each.principal: each.kind for each in known}
    kind = wanted.kind or default_kind(wanted.roles)
    if kinds.get(wanted.name, kind) != kind:
        return _other_kind(wanted.name, kind, known)
    principals = {OPERATOR, by, *kinds}
    if wanted.owner is not None and wanted.owner not in principals:
        suggestion = nearest(wanted.owner, sorted(principals))
        return errors.BAD_FIELDS(problems=f"owner: there is no principal of this name.{suggestion}")
    if wanted.workspace_id is not None and wanted.workspace_id not in workspaces:
        # In a workspace that does not exist no rule for one would hold.
        suggestion = nearest(wanted.workspace_id, sorted(workspaces))
        return errors.BAD_FIELDS(problems=f"workspace_id: there is no such workspace.{suggestion}")
    return _pattern_problem("servers", wanted.servers) or _pattern_problem("tools", wanted.tools)


def _other_kind(name: str, given: str, known: Sequence[Token]) -> Reason:
    found = next((each.kind for each in known if each.principal == name and each.kind != given), "somebody else")
    return errors.OTHER_KIND(name=name, known=found, given=given)


def _pattern_problem(field: str, patterns: list[str] | None) -> Reason | None:
    try:
        for pattern in patterns or ():
            compile_glob(pattern)
    except ValueError as bad:
        return errors.BAD_FIELDS(problems=f"{field}: {bad}")
    return None


def _expiry(wanted: WantedToken, now: Micros) -> Micros | None:
    if wanted.ttl is not None and wanted.expires_at is not None:
        raise Refusal(errors.BAD_FIELDS(problems="ttl: give ttl or expires_at, not both"))
    field = "ttl" if wanted.ttl is not None else "expires_at"
    try:
        if wanted.ttl is not None:
            at = now + times.duration_of(wanted.ttl)
        else:
            at = None if wanted.expires_at is None else times.time_of(wanted.expires_at)
    except ValueError as bad:
        raise Refusal(errors.BAD_FIELDS(problems=f"{field}: {bad}")) from None
    if at is not None and at <= now:
        raise Refusal(errors.BAD_FIELDS(problems=f"{field}: must be in the future"))
    return at


def _scope(wanted: WantedToken, by: str, *, by_person: bool) -> TokenScope:
    return TokenScope(
        owner=wanted.owner or by,
        minted_by=by,
        workspace=wanted.workspace_id,
        servers=None if wanted.servers is None else tuple(wanted.servers),
        tools=None if wanted.tools is None else tuple(wanted.tools),
        ceiling=None if wanted.ceiling is None else OperationType(wanted.ceiling),
        label=wanted.label,
        minted_by_person=by_person,
    )


# What is shown --------------------------------------------------------------------------------------------------


_NOTHING = TokenScope(servers=(), tools=())
"""Shown for a scope that cannot be read: such a token is accepted nowhere."""


def _shown(token: Token) -> ShownToken:
    try:
        scope = scope_of(token)
    except ValueError:
        scope = _NOTHING
    return ShownToken(
        id=token.id,
        name=token.principal,
        kind=token.kind,
        roles=list(token.roles),
        owner=scope.owner,
        minted_by=scope.minted_by,
        label=scope.label,
        workspace_id=scope.workspace,
        servers=None if scope.servers is None else list(scope.servers),
        tools=None if scope.tools is None else list(scope.tools),
        ceiling=scope.ceiling,
        created_at=times.iso(token.created_at),
        expires_at=times.iso_or_none(token.expires_at),
        revoked_at=times.iso_or_none(token.revoked_at),
    )
