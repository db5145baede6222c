"""An issuer of the sandbox's own, in the place of the user's: its keys are published there and nowhere else.

This module refuses to ask the user's issuer for anything, and to keep a key.
"""

import base64
import json
from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_KEY = "sandbox"
_HEAD: Mapping[str, object] = {"alg": "EdDSA", "typ": "JWT", "kid": _KEY}


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def _part(value: Mapping[str, object]) -> str:
    return _text(json.dumps(value).encode())


def published(key: Ed25519PrivateKey) -> bytes:
    """The document in which a key is published."""
    public = _text(key.public_key().public_bytes_raw())
    return json.dumps({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": public, "kid": _KEY}]}).encode()


def signed(key: Ed25519PrivateKey, claims: Mapping[str, object]) -> str:
    """A token with these claims."""
    text = f"{_part(_HEAD)}.{_part(claims)}"
    return f"{text}.{_text(key.sign(text.encode()))}"


def unsigned(claims: Mapping[str, object]) -> str:
    """A token that says of itself that it needs no signature."""
    return f"{_part({'alg': 'none', 'typ': 'JWT'})}.{_part(claims)}."
