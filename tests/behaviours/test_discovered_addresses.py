"""No address that somebody else tells us is ever connected to: not in a redirect, a schema, an icon or a set of keys.

Interlock connects to what the operator wrote down and discovers nothing, so there is no list of forbidden networks to
get past. Here everything that it connects to, and every name that it looks up, is noted by the interpreter itself.
"""

import ast
import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import interlock
from interlock.approve.outbox import Message
from interlock.approve.webhooks import Receiver, Webhook
from interlock.clock import SystemClock
from interlock.core.schemas import compiled
from interlock.forward.upstream import UpstreamSpec
from interlock.receive import issuer
from interlock.sent import FAILURES
from tests.forward.fleets import watched
from tests.forward.raw_server import Peer, RawServer, whole

HOSTS = (
    "0.0.0.0",  # noqa: S104 - nothing is bound to it
    *("127.0.0.1", "127.1", "0", "2130706433", "0x7f000001", "017700000001", "localhost", "localhost."),
    *("[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1]"),
    *("169.254.169.254", "[::ffff:169.254.169.254]", "metadata.google.internal", "[fd00:ec2::254]", "100.100.100.200"),
    *("10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "198.18.0.1", "192.0.2.1", "224.0.0.1", "[fc00::1]"),
    *("127.0.0.1.nip.io", "user@127.0.0.1", "evil.test#@127.0.0.1", "evil.test", "xn--80ak6aa92e.test"),
)
URLS = (
    *(f"http://{host}:9/x" for host in HOSTS),
    *("//evil.test/x", "https://127.0.0.1:9", "file:///etc/passwd", "gopher://127.0.0.1:9/_x", "ftp://evil.test/"),
    *("http://[::1", "\\\\evil.test\\x", "http:evil.test"),
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Seen:
    """Where this process connected to, and which names it looked up, while `on`."""

    def __init__(self) -> None:
        self.on = False
        self.places: list[Any] = []
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event == "socket.connect" and not isinstance(arguments[1], str | bytes):
            self.places.append(arguments[1][:2])
        if self.on and event == "socket.getaddrinfo":
            self.places.append(tuple(arguments[:2]))


_SEEN = Seen()
"""One for all tests: what listens to the interpreter cannot be taken away."""


@pytest.fixture
def seen() -> Generator[list[Any]]:
    _SEEN.places, _SEEN.on = [], True
    yield _SEEN.places
    _SEEN.on = False


def only(server: RawServer) -> set[tuple[str, int]]:
    return {("127.0.0.1", server.port)}


async def elsewhere(peer: Peer, url: str) -> None:
    while True:
        await peer.request()
        await peer.send(whole("307 Temporary Redirect", "text/html", b"", f"Location: {url}", f"Link: <{url}>"))


@pytest.mark.parametrize("url", URLS)
async def test_nobody_can_send_us_elsewhere(seen: list[Any], url: str) -> None:
    async with RawServer(lambda peer: elsewhere(peer, url)) as server:
        webhook = Receiver(Webhook(server.url), SystemClock(), (), 5.0)
        await webhook.send(Message("msg_1", "approval.created", "ap_1", "up:x", b"{}"))
        with pytest.raises((ValueError, httpx2.TransportError, httpx2.InvalidURL)):
            await issuer._get(server.url)  # pyright: ignore[reportPrivateUsage]
        async with watched([UpstreamSpec("far", "far", url=server.url)]) as fleet:
            with pytest.raises(FAILURES):
                await fleet.call("far")

    assert set(seen) == only(server)


async def test_nothing_that_a_server_lists_or_answers_is_fetched(seen: list[Any]) -> None:
    tools: list[dict[str, Any]] = [
        {
            "name": f"t{number}",
            "icons": [{"src": url}],
            "inputSchema": {"$schema": url, "$id": url, "$ref": url, "type": "object"},
            "outputSchema": {"$ref": url},
        }
        for number, url in enumerate(URLS)
    ]
    links = [{"type": "resource_link", "uri": url, "name": "x"} for url in URLS]
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "serverInfo": {"name": "x", "version": "1", "websiteUrl": URLS[0], "icons": [{"src": URLS[0]}]},
        },
        "tools/list": {"tools": tools},
        "tools/call": {"content": links},
    }

    async def answer(peer: Peer) -> None:
        while True:
            received = await peer.request()
            message: dict[str, Any] = json.loads(received.body) if received.body else {}
            outcome = {"result": results.get(message.get("method", ""), {})}
            body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), **outcome}).encode()
            await peer.send(whole("200 OK" if "id" in message else "202 Accepted", "application/json", body))

    async with RawServer(answer) as server, watched([UpstreamSpec("far", "far", url=server.url)]) as fleet:
        for number in range(3):
            await fleet.call("far", f"t{number}")
        checkers = [compiled(tool["inputSchema"]) for tool in tools]

    assert checkers == [None] * len(tools)
    assert set(seen) == only(server)


# The whole source -----------------------------------------------------------------------------------------------

CONNECTING = {
    "approve/webhooks.py": "AsyncHTTPTransport",
    "cli/demo/agent.py": "AsyncClient",
    "forward/http_pool.py": "create_connection",
    "receive/issuer.py": "AsyncClient",
    "receive/reach.py": "open_connection",
}
"""The modules that connect to anything, each to an address that the operator wrote down or that is our own."""
_WAYS = frozenset({"AsyncClient", "AsyncHTTPTransport", "HTTPTransport", "create_connection", "open_connection"})
_MORE_WAYS = frozenset({"urlopen", "HTTPConnection", "HTTPSConnection", "sock_connect", "getaddrinfo", "gethostbyname"})


def test_nothing_else_in_the_source_connects_to_anything() -> None:
    source = Path(interlock.__file__).parent
    found: dict[str, str] = {}
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not any(way in text for way in _WAYS | _MORE_WAYS):
            continue
        for node in ast.walk(ast.parse(text)):
            name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            if name in _WAYS | _MORE_WAYS:
                found[path.relative_to(source).as_posix()] = name
                follows = [each for each in getattr(node, "keywords", ()) if each.arg == "follow_redirects"]
                assert [each for each in follows if getattr(each.value, "value", True)] == []

    assert found == CONNECTING
