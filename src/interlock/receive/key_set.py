"""The public keys of an issuer, read from the document (JWKS) that it publishes.

All use of joserfc is in this module, and it is loaded when the first document is read: most gateways know no issuer,
and it would make each of them start later. A key is taken only if a signature can be checked with it: asymmetric, meant
for signatures, long enough. Others are left out, as RFC 7517 wants it; a document without any usable key is refused.

This module refuses to fetch anything and to know a shared secret: `none` and HMAC do not exist here.
"""

import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from joserfc.errors import JoseError
from joserfc.jwa import EdDSAAlgorithm, ESAlgorithm, JWSAlgModel, RSAAlgorithm, RSAPSSAlgorithm
from joserfc.jwk import DictKey, Key, import_key
from joserfc.util import urlsafe_b64decode
from msgspec import Meta, Struct

from interlock.receive.decode import Undecodable, decode_json

MAX_KEYS = 100
LEAST_RSA, LARGEST_RSA = 2048, 16384
"""In bits. Below it a signature can be forged; above it checking one is work for an attacker to give."""

ALGORITHMS: Mapping[str, JWSAlgModel] = {
    each.name: each
    for each in (
        RSAAlgorithm(256),
        RSAAlgorithm(384),
        RSAAlgorithm(512),
        RSAPSSAlgorithm(256),
        RSAPSSAlgorithm(384),
        RSAPSSAlgorithm(512),
        ESAlgorithm("ES256", "P-256", 256),
        ESAlgorithm("ES384", "P-384", 384),
        ESAlgorithm("ES512", "P-521", 512),
        EdDSAAlgorithm(),
    )
}


class _Document(Struct):
    keys: Annotated[list[Any], Meta(max_length=MAX_KEYS)]


class _Jwk(Struct):
    """What is read of a key. Anything else in it, private parts too, is not looked at."""

    kty: Literal["RSA", "EC", "OKP"]
    use: Literal["sig"] | None = None
    key_ops: list[str] | None = None
    kid: str | None = None
    alg: str | None = None
    n: str | None = None
    e: str | None = None
    crv: str | None = None
    x: str | None = None
    y: str | None = None


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key and what it is for: None as `algorithm` means any that fits its type."""

    id: str | None
    algorithm: str | None
    key: Key

    def verifies(self, algorithm: str, signed: bytes, signature: bytes) -> bool:
        model = ALGORITHMS.get(algorithm)
        if model is None or self.algorithm not in (None, algorithm):
            return False
        try:
            model.check_key(self.key)
            return model.verify(signed, signature, self.key)
        except JoseError:  # a key of another type or curve
            return False


@dataclass(frozen=True, slots=True)
class KeySet:
    """The keys of an issuer."""

    keys: tuple[PublicKey, ...]

    def knows(self, key_id: str | None) -> bool:
        """Whether there is a key of this id. A token that names none is not helped by other keys."""
        return key_id is None or any(each.id == key_id for each in self.keys)

    def verifies(self, key_id: str | None, algorithm: str, signed: bytes, signature: bytes) -> bool:
        """Whether a key of this id made the signature; without an id, whether the only key there is did."""
        return any(each.verifies(algorithm, signed, signature) for each in self.of(key_id))

    def of(self, key_id: str | None) -> tuple[PublicKey, ...]:
        """The keys with which a token that names this id may be signed."""
        if key_id is None:
            return self.keys if len(self.keys) == 1 else ()
        return tuple(each for each in self.keys if each.id == key_id)


def read_key_set(raw: bytes) -> KeySet:
    """The usable keys of a document. Raises ValueError, with what is wrong in words, when there are none."""
    try:
        document = msgspec.convert(decode_json(raw), _Document)
    except Undecodable:
        raise ValueError("its answer is not JSON") from None
    except msgspec.ValidationError:
        raise ValueError(f"its answer is no set of at most {MAX_KEYS} keys") from None
    keys = tuple(key for key in map(_usable, document.keys) if key is not None)
    if not keys:
        raise ValueError("none of its keys can check a signature")
    return KeySet(keys)


def _usable(given: object) -> PublicKey | None:
    try:
        jwk = msgspec.convert(given, _Jwk)
        if jwk.key_ops is not None and "verify" not in jwk.key_ops:
            return None
        if jwk.kty == "RSA" and not LEAST_RSA <= _bits(jwk.n or "") <= LARGEST_RSA:
            return None
        return PublicKey(jwk.kid, jwk.alg, import_key(_public(jwk)))
    except (msgspec.ValidationError, JoseError, ValueError, KeyError):
        return None  # KeyError is how joserfc meets a curve that it does not know


def _public(jwk: _Jwk) -> DictKey:
    members = {"kty": jwk.kty, "n": jwk.n, "e": jwk.e, "crv": jwk.crv, "x": jwk.x, "y": jwk.y}
    return {name: value for name, value in members.items() if value is not None}


def _bits(number: str) -> int:
    try:
        return int.from_bytes(urlsafe_b64decode(number.encode("utf-8"))).bit_length()
    except binascii.Error:
        return 0
