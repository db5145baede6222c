"""The issuer of the sandbox signs as issuers do."""

import base64
import json

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from interlock.cli.checkups.prove.issuing import published, signed, unsigned

KEY = Ed25519PrivateKey.generate()


def read(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def test_a_token_is_signed_with_the_key_that_is_published() -> None:
    (known,) = json.loads(published(KEY))["keys"]
    head, body, signature = signed(KEY, {"sub": "a"}).split(".")

    Ed25519PublicKey.from_public_bytes(read(known["x"])).verify(read(signature), f"{head}.{body}".encode())
    assert (json.loads(read(body)), json.loads(read(head))["kid"]) == ({"sub": "a"}, known["kid"])


def test_the_private_part_is_not_published() -> None:
    assert "d" not in json.loads(published(KEY))["keys"][0]


def test_one_without_a_signature_says_so() -> None:
    head, _, signature = unsigned({"sub": "a"}).split(".")

    assert (json.loads(read(head))["alg"], signature) == ("none", "")
