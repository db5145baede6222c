"""An issuer for the tests: private keys, tokens that are signed with them, and a small server for the public ones."""

import asyncio
import base64
import contextlib
import json
import ssl
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from joserfc.jwk import ECKey, OKPKey, RSAKey

from interlock.receive.key_set import ALGORITHMS

ISSUER = "https://issuer.example/"
AUDIENCE = "interlock"
SECOND = 1_000_000
NOW = 1_790_000_000 * SECOND


@cache
def private_key(kind: str, number: int = 0) -> RSAKey | ECKey | OKPKey:
    """A key of this kind (RSA, P-256, P-384, P-521, Ed25519), the same one for the same number."""
    if kind == "RSA":
        return RSAKey.generate_key(2048)
    return OKPKey.generate_key("Ed25519") if kind == "Ed25519" else ECKey.generate_key(kind)


KIND_OF = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "EdDSA": "Ed25519"}
"""The kind of key of each algorithm that is none of RSA."""


@dataclass(frozen=True)
class Signer:
    """A private key under its id."""

    id: str | None = "first"
    algorithm: str = "ES256"
    number: int = 0

    @property
    def key(self) -> RSAKey | ECKey | OKPKey:
        return private_key(KIND_OF.get(self.algorithm, "RSA"), self.number)

    def jwk(self, **more: Any) -> dict[str, Any]:
        """The public key, as it is published."""
        named = {} if self.id is None else {"kid": self.id}
        return {**self.key.as_dict(), **named, **more}

    @property
    def pem(self) -> bytes:
        """The public key as a file."""
        return self.key.as_pem(private=False)

    def token(self, claims: dict[str, Any] | None = None, **header: Any) -> str:
        """A token with these claims, and with these members of the header beside the usual ones."""
        known = {"alg": self.algorithm, "typ": "JWT"} | ({} if self.id is None else {"kid": self.id})
        return self.sealed(part({**known, **header}), part(usual() if claims is None else claims))

    def sealed(self, head: str, body: str) -> str:
        signature = ALGORITHMS[self.algorithm].sign(f"{head}.{body}".encode(), self.key)
        return f"{head}.{body}.{encoded(signature)}"


def usual(now: int = NOW, **more: Any) -> dict[str, Any]:
    """The claims of a good token; one that is given as None is left out."""
    seconds = now // SECOND
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "alice",
        "exp": seconds + 600,
        "interlock_roles": ["agent"],
        **more,
    }
    return {name: value for name, value in claims.items() if value is not None}


def encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def part(value: Any) -> str:
    return encoded(json.dumps(value).encode())


def document(*keys: dict[str, Any]) -> bytes:
    return json.dumps({"keys": keys}).encode()


def http(body: bytes, status: str = "200 OK", extra: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{extra}Connection: close\r\n\r\n".encode() + body


@dataclass
class KeyServer:
    """A server that publishes keys: what it answers can be changed, and every request is counted."""

    port: int = 0
    scheme: str = "http"
    answer: bytes = b""
    paths: list[str] = field(default_factory=list[str])
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/keys"

    def publish(self, *signers: Signer) -> None:
        self.answer = http(document(*(each.jwk() for each in signers)))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.paths.append(head.split(b" ")[1].decode())
            self.asked.set()
            await self.may_answer.wait()
            writer.write(self.answer)
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def key_server(*signers: Signer, port: int = 0, tls: ssl.SSLContext | None = None) -> AsyncGenerator[KeyServer]:
    """Publish the keys of these signers until the block ends."""
    server = KeyServer(scheme="http" if tls is None else "https")
    server.publish(*signers)
    server.may_answer.set()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", port, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        server.may_answer.set()
        listening.close()
        await listening.wait_closed()
