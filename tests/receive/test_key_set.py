"""The keys of an issuer: which are taken, and what they verify."""

import json
from typing import Any

import pytest
from joserfc.jwk import OctKey, OKPKey, RSAKey

from interlock.receive import jwt
from interlock.receive.key_set import ALGORITHMS, MAX_KEYS, read_key_set
from tests.receive.issuing import Signer, document

FIRST, SECOND = Signer("first", number=1), Signer("second", number=2)
SIGNED = b"head.body"


def signature(signer: Signer) -> bytes:
    return ALGORITHMS[signer.algorithm].sign(SIGNED, signer.key)


def verifies(signer: Signer, *published: dict[str, Any], algorithm: str | None = None) -> bool:
    keys = read_key_set(document(*published))
    return keys.verifies(signer.id, algorithm or signer.algorithm, SIGNED, signature(signer))


def test_the_algorithms_are_the_ones_that_tokens_may_name() -> None:
    assert tuple(ALGORITHMS) == jwt.ALGORITHMS
    assert all(each.key_type in ("RSA", "EC", "OKP") for each in ALGORITHMS.values())


@pytest.mark.parametrize("algorithm", jwt.ALGORITHMS)
def test_a_signature_is_verified_with_the_key_that_its_id_names(algorithm: str) -> None:
    signer = Signer("mine", algorithm)

    assert verifies(signer, Signer("other", "ES256", 9).jwk(), signer.jwk())
    assert not verifies(signer, signer.jwk(kid="another"))


def test_a_key_verifies_nothing_but_what_it_signed() -> None:
    keys = read_key_set(document(FIRST.jwk()))

    assert keys.verifies("first", "ES256", SIGNED, signature(FIRST))
    assert not keys.verifies("first", "ES256", SIGNED + b"x", signature(FIRST))
    assert not keys.verifies("first", "ES256", SIGNED, signature(FIRST)[:-1])
    assert not keys.verifies("first", "ES256", SIGNED, b"")


def test_a_key_under_the_id_of_another_verifies_nothing_of_it() -> None:
    assert not verifies(FIRST, FIRST.jwk(kid="second"), SECOND.jwk(kid="first"))


@pytest.mark.parametrize("algorithm", ["none", "HS256", "ES256K", "RS1"])
def test_what_is_no_algorithm_of_ours_verifies_nothing(algorithm: str) -> None:
    assert not verifies(FIRST, FIRST.jwk(), algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ["ES384", "RS256", "EdDSA"])
def test_a_key_of_another_type_or_curve_verifies_nothing(algorithm: str) -> None:
    assert not verifies(FIRST, FIRST.jwk(), algorithm=algorithm)


def test_a_key_for_one_algorithm_is_not_used_for_another() -> None:
    signer = Signer("mine", "RS256")

    assert verifies(signer, signer.jwk(alg="RS256"))
    assert not verifies(signer, signer.jwk(alg="PS256"))


def test_two_keys_may_share_an_id_if_one_of_them_fits() -> None:
    assert verifies(FIRST, Signer("first", "EdDSA").jwk(), FIRST.jwk())


def test_a_token_without_an_id_is_verified_only_where_there_is_one_key() -> None:
    unnamed = Signer(None, number=1)

    assert verifies(unnamed, FIRST.jwk())
    assert not verifies(unnamed, FIRST.jwk(), SECOND.jwk())
    assert not verifies(unnamed, SECOND.jwk())


def test_which_keys_are_known_by_their_id() -> None:
    keys = read_key_set(document(FIRST.jwk()))

    assert [keys.knows(each) for each in ("first", "second", None)] == [True, False, True]


def test_the_keys_of_an_id_can_be_compared_between_documents() -> None:
    one, other = read_key_set(document(FIRST.jwk())), read_key_set(document(SECOND.jwk(), FIRST.jwk()))

    assert one.of("first") == other.of("first")
    assert one.of("second") != other.of("second")
    assert one.of(None) != other.of(None)
    assert one.of("first") != read_key_set(document(SECOND.jwk(kid="first"))).of("first")


X25519 = OKPKey.generate_key("X25519").as_dict()
SECRET = OctKey.generate_key(256).as_dict(private=True)
SMALL = {"kty": "RSA", "n": "AQAB" * 40, "e": "AQAB"}
PADDED = {**RSAKey.generate_key(2048).as_dict(), "n": "AAAA" * 100 + "AQAB"}


@pytest.mark.parametrize(
    "key",
    [
        FIRST.jwk(use="enc"),
        FIRST.jwk(key_ops=["sign"]),
        FIRST.jwk(key_ops="verify"),
        FIRST.jwk(kid=5),
        FIRST.jwk(alg=5),
        FIRST.jwk(crv="P-0"),
        FIRST.jwk(crv="P-384"),
        FIRST.jwk(x=None),
        FIRST.jwk(x="!"),
        FIRST.jwk(kty="oct"),
        FIRST.jwk(kty=["EC"]),
        SECRET,
        SMALL,
        PADDED,
        {"kty": "RSA", "n": "!!", "e": "AQAB"},
        {"kty": "RSA", "n": "AQAB" * 5000, "e": "AQAB"},
        {"kty": "RSA", "e": "AQAB"},
        {"kty": "EC"},
        {},
        "first",
        None,
    ],
)
def test_a_key_that_cannot_check_a_signature_is_left_out(key: Any) -> None:
    assert len(read_key_set(document(key, SECOND.jwk())).keys) == 1


def test_a_key_that_only_agrees_on_secrets_verifies_nothing() -> None:
    keys = read_key_set(document({**X25519, "kid": "first"}))

    assert not keys.verifies("first", "EdDSA", SIGNED, bytes(64))


def test_the_private_parts_of_a_key_are_not_read() -> None:
    private = {**FIRST.key.as_dict(private=True), "kid": "first"}
    (read,) = read_key_set(document(private)).keys

    assert not read.key.is_private


@pytest.mark.parametrize("key", [FIRST.jwk(use="sig"), FIRST.jwk(key_ops=["verify"]), FIRST.jwk(x5c=["?"], more=1)])
def test_what_else_a_key_says_does_not_matter(key: dict[str, Any]) -> None:
    assert verifies(FIRST, key)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "its answer is not JSON"),
        (b"<html>", "its answer is not JSON"),
        (b'{"keys": [], "keys": []}', "its answer is not JSON"),
        (b"[" * 10_000, "its answer is not JSON"),
        (b"[]", "its answer is no set of at most 100 keys"),
        (b"{}", "its answer is no set of at most 100 keys"),
        (b'{"keys": 5}', "its answer is no set of at most 100 keys"),
        (json.dumps({"keys": [0] * (MAX_KEYS + 1)}).encode(), "its answer is no set of at most 100 keys"),
        (b'{"keys": []}', "none of its keys can check a signature"),
        (document(SECRET), "none of its keys can check a signature"),
    ],
)
def test_a_document_without_usable_keys_is_refused_with_the_reason(raw: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{problem}$"):
        read_key_set(raw)
