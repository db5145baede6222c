"""Notices as webhooks, signed as the Standard Webhooks specification has it.

The address of a webhook may itself be a secret, so nothing beyond scheme, host and port is ever shown, and what the
HTTP client says about a failure is not repeated: it is told in words of ours. The transport of the client is used
without the client, which would log addresses, keep cookies and take credentials and proxies from the environment.

Redirects are not followed, certificates are verified, and the body of an answer is not read: its status says enough.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import logging
import ssl
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx2
from msgspec import Struct

from interlock import __version__
from interlock.approve.outbox import Attempt, Fate, Message
from interlock.clock import Clock
from interlock.core.model import Micros

PAUSES = (1.0, 5.0, 30.0, 120.0, 600.0)
"""Seconds between the attempts to deliver one message."""
ATTEMPT_SECONDS = 10.0
LONGEST_WAIT = 600.0
"""No receiver can have us wait longer than this before the next attempt."""
_PREFIX = "whsec_"
# Below this level the transport logs what receivers answer, and an answer may repeat the address it was asked at.
logging.getLogger("httpcore2").setLevel(logging.INFO)
_ASK_TO_WAIT = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})


class Webhook(Struct, frozen=True):
    """Where to post notices, and what to sign them with. `place` is where it stands in the configuration."""

    url: str
    secret: str | None = None
    place: str = ""

    @property
    def shown(self) -> str:
        """Scheme, host and port: the rest of the address may be a secret."""
        try:
            parts = urlsplit(self.url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            return "an address that cannot be read"
        return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}" + ("" if port is None else f":{port}")

    def __repr__(self) -> str:
        return f"Webhook({self.shown})"


def key_of(secret: str) -> bytes:
    """The key that a secret stands for: what is behind `whsec_` is base64, anything else is the key itself.

    Raises ValueError when there is no key in it.
    """
    if not secret.startswith(_PREFIX):
        key = secret.encode("utf-8")
    else:
        try:
            key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        except binascii.Error:
            raise ValueError(f"begins with {_PREFIX}, but is no base64 after that") from None
    if not key:
        raise ValueError("is empty")
    return key


def signature(key: bytes, message_id: str, seconds: int, body: bytes) -> str:
    """The signature of one attempt, as the header has it."""
    signed = f"{message_id}.{seconds}.".encode("ascii") + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode("ascii")


class Receiver:
    """The target behind a webhook."""

    at_once = 1

    def __init__(self, webhook: Webhook, clock: Clock, pauses: tuple[float, ...], seconds: float) -> None:
        """Raises ValueError when the secret is none."""
        self.shown = webhook.shown
        self.pauses = pauses
        self._url = webhook.url
        self._key = None if webhook.secret is None else key_of(webhook.secret)
        self._clock = clock
        self._seconds = seconds

    async def send(self, message: Message) -> Attempt:
        attempt: Attempt | None = None
        try:
            async with (
                asyncio.timeout(self._seconds),
                httpx2.AsyncHTTPTransport(verify=_tls(), trust_env=False) as transport,
            ):
                response = await transport.handle_async_request(self._request(message))
                attempt = _attempt_of(response.status_code, response.headers.get("retry-after"), self._clock.now())
                await response.aclose()
        except Exception as failed:  # whatever the client raises may hold the address: it goes no further than this
            # A connection that breaks after the status has come changes nothing.
            return attempt or Attempt(Fate.MISSED, self._why(failed))
        return attempt

    def _request(self, message: Message) -> httpx2.Request:
        seconds = self._clock.now() // 1_000_000
        url = httpx2.URL(self._url)
        headers = {
            "content-type": "application/json",
            "user-agent": f"interlock/{__version__}",
            "connection": "close",
            "webhook-id": message.id,
            "webhook-timestamp": str(seconds),
        }
        if self._key is not None:
            headers["webhook-signature"] = signature(self._key, message.id, seconds, message.body)
        if url.username or url.password:
            credentials = base64.b64encode(f"{url.username}:{url.password}".encode())
            headers["authorization"] = f"Basic {credentials.decode('ascii')}"
        return httpx2.Request("POST", url, headers=headers, content=message.body)

    def _why(self, failed: Exception) -> str:
        """What went wrong, in words that hold nothing of the address."""
        match failed:
            case TimeoutError() | httpx2.TimeoutException():
                return f"no answer within {self._seconds:g} s"
            case httpx2.ConnectError() if _untrusted(failed):
                return "its certificate is not trusted"
            case httpx2.ConnectError():
                return "it cannot be reached"
            case httpx2.TransportError():
                return "the connection broke before an answer came"
            case _:
                return f"nothing could be sent to this address ({type(failed).__name__})"


@cache
def _tls() -> ssl.SSLContext:
    """Reading the certificates of the system takes tens of milliseconds, so it is done once."""
    return ssl.create_default_context()


def _untrusted(failed: BaseException) -> bool:
    """Whether a failure began with a certificate."""
    cause: BaseException | None = failed
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def _attempt_of(status: int, retry_after: str | None, now: Micros) -> Attempt:
    if 200 <= status < 300:
        return Attempt(Fate.TAKEN, str(status))
    if status == HTTPStatus.GONE:
        return Attempt(Fate.GONE, "410: the receiver wants no more notices")
    if 300 <= status < 400:
        return Attempt(Fate.MISSED, f"{status}: redirects are not followed")
    wait = None if status not in _ASK_TO_WAIT or retry_after is None else seconds_of(retry_after, now)
    return Attempt(Fate.MISSED, str(status), wait)


def seconds_of(retry_after: str, now: Micros) -> float | None:
    """How long a receiver asks us to wait: a number of seconds or a date, within bounds; None when it is neither."""
    text = retry_after.strip()
    if text.isascii() and text.isdecimal():
        return LONGEST_WAIT if len(text) > 6 else min(float(text), LONGEST_WAIT)
    try:
        at = parsedate_to_datetime(text)
        seconds = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now / 1_000_000
    except (ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT)
