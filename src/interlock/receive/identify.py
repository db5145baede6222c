"""Who is calling, as we identified it: by a token that we issued, and by nothing a caller says about itself.

A token is `il_<id>_<secret>`; only the hash of the secret is kept. Without a token a caller on this machine is the one
principal `local`, which may call tools and nothing else; from anywhere else a token is needed on every route. A token
whose scope we cannot read is nobody's: a limit that is not understood must not become no limit.
"""

import asyncio
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, fields

import msgspec

from interlock import errors
from interlock.clock import Clock
from interlock.core.globs import compile_glob
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
_TOKEN = re.compile(r"il_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody we know: a name, what kind of somebody, and what it may do. `workspace` is that of its token, if any."""

    name: str
    kind: str
    roles: frozenset[str]
    workspace: str | None = None
    scope: Scope = field(default_factory=Scope)

    def as_caller(self) -> Caller:
        return Caller(self.name, self.workspace, self.scope)


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

    def as_json(self) -> JsonObject:
        return {name: value for name, value in msgspec.to_builtins(self).items() if value is not None}


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
    """What a principal is when nobody says so: an agent if all it may do is call tools, else a person."""
    return "agent" if set(roles) == {"agent"} else "human"


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


_LOCAL = Principal(LOCAL, "agent", frozenset({"agent"}))
_NOBODY = _hash("")


class Callers:
    """The tokens that are valid, by id. Whoever changes tokens holds `changes`, so that no two decide at once."""

    def __init__(self, clock: Clock, *, allow_local: bool) -> None:
        self.changes = asyncio.Lock()
        self._clock = clock
        self._allow_local = allow_local
        self._known: dict[str, _Known] = {}

    def replace(self, tokens: Iterable[Token]) -> None:
        """Know these tokens and no others."""
        self._known = {}
        for token in tokens:
            self.add(token)

    def add(self, token: Token) -> None:
        """Know one more token, from now on; a revoked one, or one whose scope cannot be read, is not taken."""
        if token.revoked_at is not None:
            return
        try:
            self._known[token.id] = _Known(token, self._principal(token))
        except ValueError:
            return

    def drop(self, token_id: str) -> None:
        """Know a token no more, from now on."""
        self._known.pop(token_id, None)

    def _principal(self, token: Token) -> Principal:
        stored = scope_of(token)
        scope = Scope(stored.servers, stored.tools, stored.ceiling, token.expires_at)
        return Principal(token.principal, token.kind, frozenset(token.roles), stored.workspace, scope)

    def identify(self, authorization: str | None) -> Principal | Reason:
        """The principal behind an Authorization header, or why there is none."""
        if authorization is None:
            if self._allow_local:
                return _LOCAL
            return errors.UNAUTHENTICATED(problem="A token is needed here.")
        scheme, _, credential = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return errors.UNAUTHENTICATED(problem="The Authorization header must be a bearer token.")
        return self._by_token(credential.strip())

    def _by_token(self, text: str) -> Principal | Reason:
        """The same steps for every text, so that the time tells nothing of what was wrong with it."""
        shape = _TOKEN.fullmatch(text)
        token_id, secret = ("", "") if shape is None else shape.groups()
        known = self._known.get(token_id)
        wanted = _NOBODY if known is None else known.token.secret_hash
        if not hmac.compare_digest(wanted, _hash(secret)) or known is None:
            return errors.UNAUTHENTICATED(problem="The token is not valid.")
        if known.token.expires_at is not None and self._clock.now() >= known.token.expires_at:
            return errors.UNAUTHENTICATED(problem="The token has expired.")
        return known.principal
