"""A token of somebody else's issuer (JWT): what it says, whether that is true, and who is behind it.

Everything here is pure: given the text, the keys and the time, the answer is a principal or the reason why there is
none. What a token says about where its key is to be found (`jku`, `x5u`, `jwk`, `x5c`) is not looked at. What it does
not say is not made up: without an end, a subject or a role it is nobody's; and a limit that is not understood refuses
the whole token, because it must not become no limit.

No sentence that is given from here repeats any part of a token.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta

from interlock import errors
from interlock.core.globs import compile_glob
from interlock.core.lineage import ELSEWHERE
from interlock.core.model import JsonObject, Micros, OperationType, Scope
from interlock.errors import InterlockError, Reason
from interlock.receive.decode import Undecodable, decode_json
from interlock.receive.identify import ROLES, Principal, default_kind

if TYPE_CHECKING:
    from interlock.receive.key_set import KeySet

MAX_TOKEN = 16_384
MAX_NAME = 200
EARLY: Micros = 30_000_000
"""How much earlier than its `nbf` a token is taken, because clocks differ. Its end is its end: the decision about a
call goes by it too."""
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""How a token may be signed: with a private key only. A shared secret would let whoever can check a token make one."""

_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_TYPES = (None, "jwt", "at+jwt", "application/jwt", "application/at+jwt")
"""Kinds of token that say who calls. An issuer signs other things with the same keys, such as notices of a logout."""
_LATEST = 253_402_300_799


@dataclass(frozen=True, slots=True)
class Terms:
    """Which tokens are taken: of this issuer, for this audience, signed with a key from this address.

    A token may name one of these workspaces; in one that does not exist no rule for one would hold.
    """

    issuer: str
    audience: str
    jwks_url: str
    workspaces: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Presented:
    """A token that was read and not yet believed."""

    id: str
    algorithm: str
    key_id: str | None
    signed: bytes
    signature: bytes
    claims: JsonObject


# The text -------------------------------------------------------------------------------------------------------


def read(text: str) -> Presented | Reason:
    """Take a token apart, without believing anything in it."""
    if len(text) > MAX_TOKEN or not _SHAPE.fullmatch(text):
        return errors.JWT_UNREADABLE()
    signed, _, signature = text.rpartition(".")
    head, _, body = signed.partition(".")
    try:
        header, claims = _object(head), _object(body)
        sealed = _bytes(signature)
    except (ValueError, Undecodable, msgspec.ValidationError):
        return errors.JWT_UNREADABLE()
    algorithm, key_id, kind = header.get("alg"), header.get("kid"), header.get("typ")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        return errors.JWT_ALGORITHM(algorithms=", ".join(ALGORITHMS))
    named = key_id is None or isinstance(key_id, str)
    # `crit` names what must be understood, and there is nothing of that kind that we understand.
    if not named or "crit" in header or (kind.lower() if isinstance(kind, str) else kind) not in _TYPES:
        return errors.JWT_UNREADABLE()
    return Presented(token_id(text), algorithm, cast("str | None", key_id), signed.encode("ascii"), sealed, claims)


def token_id(text: str) -> str:
    """What a token is known by. It tells nothing of the text."""
    return ELSEWHERE + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _object(part: str) -> dict[str, Any]:
    return msgspec.convert(decode_json(_bytes(part)), dict[str, Any])


def _bytes(part: str) -> bytes:
    """What a part stands for. Of the spellings that mean the same bytes only one is taken."""
    try:
        value = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except binascii.Error:
        raise ValueError("not base64") from None
    if base64.urlsafe_b64encode(value).rstrip(b"=") != part.encode("ascii"):
        raise ValueError("not in its only spelling")
    return value


# What it says ---------------------------------------------------------------------------------------------------


def identified(presented: Presented, keys: "KeySet", terms: Terms, now: Micros) -> Principal | Reason:
    """Who is behind a token, if it is signed by the issuer, for us, now."""
    if not keys.verifies(presented.key_id, presented.algorithm, presented.signed, presented.signature):
        return errors.JWT_SIGNATURE()
    claims = presented.claims
    try:
        if claims.get("iss") != terms.issuer or terms.audience not in _audiences(claims):
            return errors.JWT_FOR_OTHERS()
        expires_at = _time(claims, "exp")
        if now >= expires_at:
            return errors.JWT_EXPIRED()
        if "nbf" in claims and now + EARLY < _time(claims, "nbf"):
            return errors.JWT_TOO_EARLY()
        return _principal(presented, terms, expires_at)
    except _NotUnderstood as problem:
        return problem.reason


class _NotUnderstood(InterlockError):
    """A claim that is missing, or not what it should be."""

    def __init__(self, claim: str) -> None:
        super().__init__(errors.JWT_CLAIM(claim=claim))


def _audiences(claims: JsonObject) -> list[str]:
    given = _claim(claims, "aud", str | list[str])
    return [given] if isinstance(given, str) else given


def _time(claims: JsonObject, name: str) -> Micros:
    """A time of a token, which is in seconds and may have a fraction."""
    seconds = _claim(claims, name, int | float)
    if not 0 <= seconds <= _LATEST:
        raise _NotUnderstood(name)
    return int(seconds * 1_000_000)


def _claim(claims: JsonObject, name: str, kind: Any) -> Any:
    try:
        return msgspec.convert(claims[name], kind)
    except (KeyError, msgspec.ValidationError):
        raise _NotUnderstood(name) from None


_Words = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
_OWN: Mapping[str, Any] = {
    "interlock_roles": list[str],
    "interlock_kind": Literal["human", "agent", "service"],
    "interlock_workspace": _Words,
    "interlock_servers": tuple[str, ...],
    "interlock_tools": tuple[str, ...],
    "interlock_ceiling": OperationType,
    "interlock_owner": _Words,
}
"""The claims that are about us. One that is not among them may be a limit, so no other may begin like these."""


def _principal(presented: Presented, terms: Terms, expires_at: Micros) -> Principal | Reason:
    claims = presented.claims
    own = {name: _claim(claims, name, _kind_of(name)) for name in claims if name.startswith("interlock_")}
    for name in ("interlock_servers", "interlock_tools"):
        _check_patterns(name, own.get(name, ()))
    if own.get("interlock_workspace") not in (None, *terms.workspaces):
        raise _NotUnderstood("interlock_workspace")
    roles = _roles(claims, own.get("interlock_roles"))
    if not roles:
        return errors.JWT_NO_ROLE()
    owner = own.get("interlock_owner")
    return Principal(
        name=ELSEWHERE + _name("sub", _claim(claims, "sub", _Words)),
        kind=own.get("interlock_kind") or default_kind(roles),
        roles=roles,
        workspace=own.get("interlock_workspace"),
        scope=Scope(own.get("interlock_servers"), own.get("interlock_tools"), own.get("interlock_ceiling"), expires_at),
        token=presented.id,
        owner=None if owner is None else _name("interlock_owner", owner),
    )


def _kind_of(name: str) -> Any:
    if name not in _OWN:
        raise _NotUnderstood("interlock_…")  # its name is part of the token
    return _OWN[name]


def _check_patterns(name: str, patterns: tuple[str, ...]) -> None:
    try:
        for pattern in patterns:
            compile_glob(pattern)
    except ValueError:
        raise _NotUnderstood(name) from None


def _roles(claims: JsonObject, given: list[str] | None) -> frozenset[str]:
    """The roles that are ours: of the claim for it, or else of the scope. Other words are for others."""
    if given is None:
        scope: str = _claim(claims, "scope", str) if "scope" in claims else ""
        words = scope.split(" ")
        given = [word.removeprefix("interlock:") for word in words if word.startswith("interlock:")]
    return frozenset(given).intersection(ROLES)


def _name(claim: str, given: str) -> str:
    """A name that reviewers can tell from others by looking at it."""
    if not given.isprintable() or given != given.strip():
        raise _NotUnderstood(claim)
    return given
