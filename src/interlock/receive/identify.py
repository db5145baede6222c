"""Who is calling, as we identified it: by a token that we issued, and by nothing a caller says about itself.

A token is `il_<id>_<secret>`; only the hash of the secret is kept. Without a token a caller on this machine is the one
principal `local`, which may call tools and nothing else; from anywhere else a token is needed on every route.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from interlock import errors
from interlock.clock import Clock
from interlock.core.model import Caller, Micros, Scope
from interlock.errors import Reason
from interlock.store.protocol import Token

LOCAL = "local"
OPERATOR = "operator"
OPERATOR_AGENT = "operator-agent"
ROLES = ("agent", "approver", "auditor", "admin")
KINDS = ("human", "agent", "service")


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody we know: a name, what kind of somebody, and what it may do."""

    name: str
    kind: str
    roles: frozenset[str]
    workspace: str | None = None
    scope: Scope = field(default_factory=Scope)

    def as_caller(self) -> Caller:
        return Caller(self.name, self.workspace, self.scope)


def mint(principal: str, kind: str, roles: Iterable[str], now: Micros, expires_at: Micros | None) -> tuple[Token, str]:
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
    )
    return token, f"il_{token_id}_{secret}"


def _hash(secret: str) -> str:
    # The secret has 256 bits of its own; a slow hash would protect nothing more.
    return hashlib.sha256(secret.encode("utf-8")).hexdigest()


class Callers:
    """The tokens that are valid, by id. Replaced as a whole when tokens change."""

    def __init__(self, clock: Clock, *, allow_local: bool, workspace: str | None = None) -> None:
        self._clock = clock
        self._allow_local = allow_local
        self._workspace = workspace
        self._tokens: Mapping[str, Token] = {}
        self._local = Principal(LOCAL, "agent", frozenset({"agent"}), workspace)

    def replace(self, tokens: Iterable[Token]) -> None:
        self._tokens = {token.id: token for token in tokens if token.revoked_at is None}

    def identify(self, authorization: str | None) -> Principal | Reason:
        """The principal behind an Authorization header, or why there is none."""
        if authorization is None:
            if self._allow_local:
                return self._local
            return errors.UNAUTHENTICATED(problem="A token is needed here.")
        scheme, _, credential = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return errors.UNAUTHENTICATED(problem="The Authorization header must be a bearer token.")
        return self._by_token(credential.strip())

    def _by_token(self, text: str) -> Principal | Reason:
        prefix, _, rest = text.partition("_")
        token_id, _, secret = rest.partition("_")
        token = self._tokens.get(token_id) if prefix == "il" else None
        known = _hash("") if token is None else token.secret_hash
        if not hmac.compare_digest(known, _hash(secret)) or token is None:
            return errors.UNAUTHENTICATED(problem="The token is not valid.")
        if token.expires_at is not None and self._clock.now() >= token.expires_at:
            return errors.UNAUTHENTICATED(problem="The token has expired.")
        scope = Scope(expires_at=token.expires_at)
        return Principal(token.principal, token.kind, frozenset(token.roles), self._workspace, scope)
