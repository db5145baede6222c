"""Who is calling, as we identified it: by a token that we issued, and by nothing a caller says about itself.

A token is `il_<id>_<secret>`; only the hash of the secret is kept. Where the configuration names an issuer, its tokens
are a second way in; ours never come near it. Without a token a caller on this machine is the one
principal `local`, which may call tools and nothing else; from anywhere else a token is needed on every route. A token
whose scope we cannot read is nobody's: a limit that is not understood must not become no limit.
"""

import asyncio
import hashlib
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Protocol

import msgspec

from interlock import errors
from interlock.clock import Clock
from interlock.core.globs import compile_glob
from interlock.core.lineage import ELSEWHERE, HUMAN, Lineage, Minted
from interlock.core.model import Caller, JsonObject, Micros, OperationType, Scope
from interlock.errors import Reason
from interlock.store.protocol import Token

LOCAL = "local"
OPERATOR = "operator"
OPERATOR_AGENT = "operator-agent"
RESERVED_NAMES = frozenset({LOCAL, OPERATOR, OPERATOR_AGENT})
"""Principals of our own: nobody else is given a token under these names."""

NAME = r"[a-z0-9][a-z0-9._-]{0,63}"
ROLES = ("agent", "approver", "auditor", "admin")
KINDS = ("human", "agent", "service")
OURS = "il_"
"""What every token of this gateway begins with."""
MOST_SEEN = 4096
"""So many headers are remembered, with who is behind them."""
_TOKEN = re.compile(r"il_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody we know: a name, what kind of somebody, and what it may do.

    `workspace` is that of its token, if any; `owner` is who answers for it.
    """

    name: str
    kind: str
    roles: frozenset[str]
    workspace: str | None = None
    scope: Scope = field(default_factory=Scope)
    token: str | None = None
    """The id of the credential that it came with."""
    owner: str | None = None
    label: str | None = None
    folder: str | None = None
    """The folder that its process was started in, where that was proven."""

    def as_caller(self) -> Caller:
        roles = self.roles
        return Caller(
            self.name,
            self.workspace,
            self.scope,
            self.token,
            self.owner,
            self.folder,
            may_call="agent" in roles,
            may_answer="approver" in roles,
        )


@dataclass(frozen=True, slots=True)
class TokenScope:
    """Whose a token is and what it reaches. None means no limit; patterns are globs.

    `owner` answers for it and may be anyone; `minted_by` is who really made it, which is what lineage goes by.
    """

    owner: str | None = None
    minted_by: str | None = None
    workspace: str | None = None
    servers: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    ceiling: OperationType | None = None
    label: str | None = None
    minted_by_person: bool = False
    """Whether the maker was known to be a person by other means than a token of ours."""

    def as_json(self) -> JsonObject:
        return {name: value for name, value in msgspec.to_builtins(self).items() if value not in (None, False)}


_SCOPE_FIELDS = frozenset(each.name for each in fields(TokenScope))


def scope_of(token: Token) -> TokenScope:
    """The scope that is stored with a token. Raises ValueError when it is not one that we understand."""
    if not token.scope.keys() <= _SCOPE_FIELDS:
        raise ValueError("the scope has fields that are not known")
    try:
        scope = msgspec.convert(token.scope, TokenScope)
    except msgspec.ValidationError as problem:
        raise ValueError(str(problem)) from None
    for pattern in (*(scope.servers or ()), *(scope.tools or ())):
        compile_glob(pattern)
    return scope


def default_kind(roles: Iterable[str]) -> str:
    """What a principal is when nobody says so: an agent if it may call tools, else a person."""
    return "agent" if "agent" in roles else "human"


def mint(
    principal: str,
    kind: str,
    roles: Iterable[str],
    now: Micros,
    expires_at: Micros | None,
    scope: TokenScope | None = None,
) -> tuple[Token, str]:
    """A new token, and the text of it: the only time that the secret is seen."""
    token_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    token = Token(
        id=token_id,
        principal=principal,
        kind=kind,
        roles=tuple(roles),
        secret_hash=_hash(secret),
        created_at=now,
        expires_at=expires_at,
        scope=(scope or TokenScope()).as_json(),
    )
    return token, f"il_{token_id}_{secret}"


def _hash(secret: str) -> str:
    # The secret has 256 bits of its own; a slow hash would protect nothing more.
    return hashlib.sha256(secret.encode("utf-8")).hexdigest()


@dataclass(frozen=True, slots=True)
class _Known:
    """A token that is valid, and who is behind it."""

    token: Token
    principal: Principal


class Outside(Protocol):
    """Somebody else whose tokens are accepted: an issuer."""

    def known(self, text: str) -> Principal | None:
        """Who is behind a token that was looked at before, as long as that holds."""
        ...

    async def admit(self, text: str) -> Principal | Reason:
        """Who is behind a token; it may take a while to find out."""
        ...

    def again(self, token_id: str) -> Principal | None:
        """Who came with the token of this id, as long as that holds."""
        ...

    def may_still_answer(self, name: str) -> bool:
        """Whether a principal has a token that lets it answer, as far as is known."""
        ...


_LOCAL = Principal(LOCAL, "agent", frozenset({"agent"}))
_NOBODY = _hash("")


def _principal(token: Token, stored: TokenScope) -> Principal:
    scope = Scope(stored.servers, stored.tools, stored.ceiling, token.expires_at)
    roles = frozenset(token.roles)
    return Principal(token.principal, token.kind, roles, stored.workspace, scope, token.id, stored.owner, stored.label)


def _is_over(token: Token, now: Micros) -> bool:
    return token.expires_at is not None and now >= token.expires_at


class Callers:
    """The tokens that are valid, by id. Whoever changes tokens holds `changes`, so that no two decide at once."""

    def __init__(self, clock: Clock, *, allow_local: bool, outside: Outside | None = None) -> None:
        self.changes = asyncio.Lock()
        self._clock = clock
        self._allow_local = allow_local
        self._outside = outside
        self._known: dict[str, _Known] = {}
        self._seen: dict[str, _Known] = {}
        """The headers that were looked at before, and whose tokens they were. What has been dropped since is not known
        any more, so a header here is good for as long as its token is."""
        self._minted: dict[str, Minted] = {}
        self._lineage: Lineage | None = None

    def replace(self, tokens: Iterable[Token]) -> None:
        """Know these tokens and no others."""
        self._known, self._minted = {}, {}
        for token in tokens:
            self.add(token)

    async def read(self, tokens: Callable[[], Awaitable[Iterable[Token]]]) -> None:
        """Know those that a store has. One that was made or revoked between its answer and our taking it up would be
        unknown, or known again, until the next time."""
        async with self.changes:
            self.replace(await tokens())

    def add(self, token: Token) -> None:
        """Know one more token, from now on; a revoked one, or one whose scope cannot be read, is not taken, but who
        made it is remembered."""
        self._lineage = None
        try:
            scope = scope_of(token)
        except ValueError:
            self._minted[token.id] = Minted(token.principal, "", None)
            return
        self._minted[token.id] = Minted(token.principal, token.kind, scope.minted_by, scope.minted_by_person)
        if token.revoked_at is None:
            self._known[token.id] = _Known(token, _principal(token, scope))

    def drop(self, token_id: str) -> None:
        """Know a token no more, from now on."""
        self._known.pop(token_id, None)

    # Approvers --------------------------------------------------------------------------------------------------

    @property
    def lineage(self) -> Lineage:
        """Who made whom."""
        if self._lineage is None:
            self._lineage = Lineage(self._minted.values())
        return self._lineage

    def names(self) -> list[str]:
        """Everybody who may call, or could before its tokens were revoked."""
        return sorted({LOCAL, OPERATOR_AGENT, *(each.principal for each in self._minted.values())})

    def is_person(self, principal: Principal | Caller) -> bool:
        """Whether somebody is a person by the word of persons, or of the issuer."""
        return self.is_vouched(principal) or self.lineage.is_person(principal.name)

    def is_vouched(self, principal: Principal | Caller) -> bool:
        """Whether the issuer says that this is a person."""
        found = self._from_outside(principal.token)
        return found is not None and found.kind == HUMAN

    def may_still_answer(self, name: str) -> bool:
        """Whether a principal that gave its word has a token that lets it do so still."""
        if name.startswith(ELSEWHERE):
            return self._outside is not None and self._outside.may_still_answer(name)
        now = self._clock.now()
        return any(
            each.principal.name == name and "approver" in each.principal.roles and not _is_over(each.token, now)
            for each in self._known.values()
        )

    # Callers that waited ----------------------------------------------------------------------------------------

    def again(self, caller: Caller) -> Principal | Reason:
        """Who a caller is by now; a reason when it is nobody any more."""
        if caller.token is None:
            return self.identify(None)
        if caller.token.startswith(ELSEWHERE):
            return self._from_outside(caller.token) or errors.JWT_AGAIN()
        known = self._known.get(caller.token)
        if known is None:
            return errors.UNAUTHENTICATED(problem="The token was revoked.")
        if _is_over(known.token, self._clock.now()):
            return errors.UNAUTHENTICATED(problem="The token has expired.")
        return known.principal

    def _from_outside(self, token_id: str | None) -> Principal | None:
        if self._outside is None or token_id is None or not token_id.startswith(ELSEWHERE):
            return None
        return self._outside.again(token_id)

    # Requests ---------------------------------------------------------------------------------------------------

    async def admit(self, authorization: str | None) -> Principal | Reason:
        """As `identify`, but a token of the issuer that is not known yet is looked at, which may take a while."""
        found = self.identify(authorization)
        text = _bearer(authorization or "")
        if isinstance(found, Principal) or self._outside is None or text is None or text.startswith(OURS):
            return found
        return await self._outside.admit(text)

    def identify(self, authorization: str | None) -> Principal | Reason:
        """The principal behind an Authorization header, or why there is none; see `admit`. It never waits."""
        if authorization is None:
            if self._allow_local:
                return _LOCAL
            return errors.UNAUTHENTICATED(problem="A token is needed here.")
        seen = self._seen.get(authorization)
        if seen is not None and self._known.get(seen.token.id) is seen and not _is_over(seen.token, self._clock.now()):
            return seen.principal
        text = _bearer(authorization)
        if text is None:
            return errors.UNAUTHENTICATED(problem="The Authorization header must be a bearer token.")
        if self._outside is not None and not text.startswith(OURS):
            return self._outside.known(text) or errors.UNAUTHENTICATED(problem="The token is not valid.")
        known = self._by_token(text)
        if isinstance(known, Reason):
            return known
        if len(self._seen) >= MOST_SEEN:
            self._seen.clear()
        self._seen[authorization] = known
        return known.principal

    def _by_token(self, text: str) -> _Known | Reason:
        """The same steps for every text, so that the time tells nothing of what was wrong with it."""
        shape = _TOKEN.fullmatch(text)
        token_id, secret = ("", "") if shape is None else shape.groups()
        known = self._known.get(token_id)
        wanted = _NOBODY if known is None else known.token.secret_hash
        if not hmac.compare_digest(wanted, _hash(secret)) or known is None:
            return errors.UNAUTHENTICATED(problem="The token is not valid.")
        if _is_over(known.token, self._clock.now()):
            return errors.UNAUTHENTICATED(problem="The token has expired.")
        return known


def _bearer(authorization: str) -> str | None:
    """The token in an Authorization header; None when that holds something else."""
    scheme, _, credential = authorization.partition(" ")
    return credential.strip() if scheme.lower() == "bearer" else None
