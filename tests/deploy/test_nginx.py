"""nginx in front of gateways: a real one, with the configuration of deploy/."""

import contextlib
import json
import re
import socket
import ssl
import threading
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interlock.app.gateway import running_gateway
from interlock.app.listening import listening
from interlock.cli.gateway import bind
from interlock.config.load import with_listen
from interlock.config.tree import Settings
from interlock.receive.identify import mint
from interlock.store.folder import DataFolder
from interlock.store.protocol import Token
from tests.asking import Legacy, Modern
from tests.certificates import self_signed
from tests.deploy import DEPLOY
from tests.deploy.proxied import Proxy, nginx
from tests.running import SETTLE_SECONDS, Running, config_of, keep_token, server_yaml
from tests.talking import NO_TLS
from tests.upstream.running import received, stdio_argv

TEXT = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
SECONDS = 30
CALLERS = 48
"""The ports decide which gateway has whom: so many that it never has them all."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def directive(name: str) -> str:
    (found,) = re.findall(rf"^ *{name} ([^;]+);", TEXT, re.M)
    return found


# Bounds ---------------------------------------------------------------------------------------------------------


def test_it_waits_longer_than_any_call_is_held_and_takes() -> None:
    hold = Settings().hold
    patience = [hold.approval_timeout, hold.answer_after, *hold.clients.values()]
    longest = max(each.total_seconds() for each in patience if not isinstance(each, str)) + 120

    assert float(directive("proxy_read_timeout").removesuffix("s")) > longest


def test_it_takes_bodies_as_long_as_a_gateway_does_and_keeps_them_in_memory() -> None:
    sizes = {directive("client_max_body_size"), directive("client_body_buffer_size")}

    assert sizes == {f"{Settings().limits.body // 1024**2}m"}


# Behind it, by hand ---------------------------------------------------------------------------------------------


@dataclass
class Behind:
    """Something that takes requests and answers as it is told, or goes away without a word."""

    address: str
    answer: bytes = b""
    rest: bytes = b""
    """What comes after the answer, when somebody has heard the answer."""
    heard: threading.Event = field(default_factory=threading.Event)
    heads: list[bytes] = field(default_factory=list[bytes])

    def take(self, connection: socket.socket) -> None:
        with connection:
            text = b""
            while b"\r\n\r\n" not in text:
                piece = connection.recv(65536)
                if not piece:
                    return
                text += piece
            self.heads.append(text.partition(b"\r\n\r\n")[0].lower())
            connection.sendall(self.answer)
            if self.rest:
                self.heard.wait(SECONDS)
                connection.sendall(self.rest)


@contextlib.contextmanager
def behind(answer: bytes = b"", rest: bytes = b"") -> Generator[Behind]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = Behind(f"127.0.0.1:{listener.getsockname()[1]}", answer, rest)

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    made.take(listener.accept()[0])

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield made
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize("path", ["/mcp", "/api/v1/freeze"])
def test_a_call_that_a_gateway_took_and_did_not_answer_is_not_sent_to_another(tmp_path: Path, path: str) -> None:
    with behind() as one, behind() as other, nginx(tmp_path / "n", one.address, other.address) as proxy:
        answer = httpx2.post(f"{proxy.url}{path}", json={"x": 1}, headers={"authorization": "Bearer x"}, verify=NO_TLS)

    assert (answer.status_code, len(one.heads) + len(other.heads)) == (502, 1)


def test_a_gateway_hears_the_name_and_the_token_that_came_and_nothing_of_who_brought_them(tmp_path: Path) -> None:
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    forged = dict.fromkeys(("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded"), "10.0.0.1")
    known = {"host": "gateway.example", "authorization": "Bearer il_x", "mcp-session-id": "s"}
    with behind(answer) as one, behind(answer) as other, nginx(tmp_path / "n", one.address, other.address) as proxy:
        httpx2.post(f"{proxy.url}/mcp", content=b"{}", headers={**known, **forged}, verify=NO_TLS)
        said = proxy.log
    (head,) = one.heads + other.heads

    assert all(f"{name}: {value}".encode().lower() in head for name, value in known.items())
    assert b"forwarded" not in head
    assert "il_x" not in said.read_text()


def test_callers_stay_at_one_gateway_whatever_their_session_is(tmp_path: Path) -> None:
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    with (
        behind(answer) as one,
        behind(answer) as other,
        nginx(tmp_path / "n", one.address, other.address) as proxy,
        httpx2.Client(verify=NO_TLS) as client,
    ):
        for caller in range(CALLERS):
            for session in range(2):
                headers = {"authorization": f"Bearer il_{caller}_x", "mcp-session-id": f"s-{session}"}
                client.post(f"{proxy.url}/mcp", content=b"{}", headers=headers)
    seen = [[re.findall(rb"bearer il_(\d+)", head)[0] for head in each.heads] for each in (one, other)]

    assert set(seen[0]) & set(seen[1]) == set()
    assert all(seen)
    assert len(seen[0]) + len(seen[1]) == CALLERS * 2


@pytest.mark.parametrize("path", ["/mcp", "/api/v1/events"])
def test_what_a_gateway_says_arrives_while_it_still_speaks(tmp_path: Path, path: str) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    told = (head + b"data: 1\n\n", b"data: 2\n\n")
    with (
        behind(*told) as one,
        behind(*told) as other,
        nginx(tmp_path / "n", one.address, other.address) as proxy,
        httpx2.stream("GET", f"{proxy.url}{path}", verify=NO_TLS, timeout=5) as answer,
    ):
        pieces = answer.iter_raw()
        first = next(pieces)
        one.heard.set()
        other.heard.set()
        rest = b"".join(pieces)

    assert (first, rest) == (b"data: 1\n\n", b"data: 2\n\n")


def test_nobody_gets_the_figures_of_whichever_gateway_answers(tmp_path: Path) -> None:
    with behind() as one, behind() as other, nginx(tmp_path / "n", one.address, other.address) as proxy:
        answer = httpx2.get(f"{proxy.url}/metrics", verify=NO_TLS)

    assert (answer.status_code, one.heads + other.heads) == (404, [])


# Gateways behind it ---------------------------------------------------------------------------------------------


@dataclass
class Team:
    """Two gateways behind nginx, with the same tokens."""

    proxy: Proxy
    gateways: list[Running]
    logs: list[Path]
    tokens: list[str]
    stacks: list[contextlib.AsyncExitStack]

    @property
    def running(self) -> Running:
        """What clients of the tests take for the gateway: the proxy."""
        return replace(self.gateways[0], url=f"{self.proxy.url}/mcp", host=self.proxy.address)

    def caller(self, at: int) -> dict[str, str]:
        return {"authorization": f"Bearer {self.tokens[at]}"}

    def calls(self) -> list[int]:
        return [len([each for each in received(log) if each.method == "tools/call"]) for log in self.logs]


async def gateway_at(host: str, folder: Path, tokens: list[Token], stack: contextlib.AsyncExitStack) -> Running:
    """A gateway on an address that is not one of those where nobody needs a token."""
    listener = stack.enter_context(contextlib.closing(bind(host, 0)))
    hold = stack.enter_context(DataFolder(folder / "data").hold())
    port: int = listener.getsockname()[1]
    text = f"posture: open\nexpose: direct\nservers:\n{server_yaml('up', stdio_argv(folder / 'log'))}"
    config = with_listen(config_of(folder, text), host, port)
    gateway = await stack.enter_async_context(running_gateway(config, hold))
    for each in tokens:
        await keep_token(gateway, each)
    await stack.enter_async_context(listening(gateway, listener, hold))
    await gateway.fleet.settled(SETTLE_SECONDS)
    return Running(gateway, f"http://{host}:{port}/mcp", f"{host}:{port}", hold.folder)


@pytest.fixture
async def team(tmp_path: Path) -> AsyncGenerator[Team]:
    made = [mint(f"agent-{at}", "agent", ("agent",), 0, None) for at in range(CALLERS)]
    tokens, texts = [token for token, _ in made], [text for _, text in made]
    stacks = [contextlib.AsyncExitStack() for _ in range(2)]
    for at in range(2):
        (tmp_path / f"g{at}").mkdir()
    async with stacks[0], stacks[1]:
        gateways = [
            await gateway_at(f"127.0.0.{at + 2}", tmp_path / f"g{at}", tokens, stack) for at, stack in enumerate(stacks)
        ]
        certificate = self_signed(tmp_path)
        with nginx(tmp_path / "n", *(each.host for each in gateways), certificate=certificate) as proxy:
            yield Team(proxy, gateways, [tmp_path / f"g{at}" / "log" for at in range(2)], texts, stacks)


def result_of(answer: httpx2.Response) -> dict[str, Any]:
    """The result of a call, whether it came as a stream or not."""
    (line,) = [each for each in answer.text.splitlines() if each.startswith("data: {")] or [answer.text]
    return json.loads(line.removeprefix("data: "))["result"]


async def test_sessions_of_all_callers_go_on_where_they_began_and_both_gateways_have_some(team: Team) -> None:
    async with httpx2.AsyncClient(verify=NO_TLS, timeout=SECONDS) as http:
        for at in range(CALLERS):
            legacy = Legacy(http, team.running, team.caller(at))
            await legacy.open({})
            params = {"name": "up__read_note", "arguments": {"title": "x"}}
            answer = await legacy.post({"id": 1, "method": "tools/call", "params": params})
            assert "content" in result_of(answer)

    assert (sum(team.calls()), 0 in team.calls()) == (CALLERS, False)


async def test_callers_of_a_gateway_that_is_gone_are_served_by_the_other(team: Team) -> None:
    async with httpx2.AsyncClient(verify=NO_TLS, timeout=SECONDS) as http:
        await team.stacks[0].aclose()
        for at in range(CALLERS):
            modern = Modern(http, team.running, {})
            answer = await modern.call({"title": "x"}, None, "read_note", **team.caller(at))
            assert "content" in answer["result"]

    assert team.calls() == [0, CALLERS]


async def test_a_body_beyond_the_bound_is_refused_and_one_below_it_arrives(team: Team) -> None:
    async with httpx2.AsyncClient(verify=NO_TLS, timeout=SECONDS) as http:
        headers = {**team.caller(0), "content-type": "application/json"}
        beyond = await http.post(team.running.url, content=b" " * (4 * 1024**2 + 1), headers=headers)
        below = await http.post(team.running.url, content=b" " * (4 * 1024**2), headers=headers)

    assert (beyond.status_code, below.status_code) == (413, 400)
    assert "not valid JSON" in below.text


async def test_a_browser_signs_in_through_tls_and_its_cookie_stays_there(team: Team, tmp_path: Path) -> None:
    first = team.gateways[0]
    operator = {"authorization": f"Bearer {first.folder.credential()}"}
    trust = ssl.create_default_context(cafile=str(self_signed(tmp_path / "g0")))
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    async with httpx2.AsyncClient(verify=trust, timeout=SECONDS) as http:
        link = await http.post(f"{team.proxy.tls}/api/v1/session/link", headers=operator)
        code = link.json()["path"].partition("#")[2]
        own = {"origin": team.proxy.tls}
        strange = await http.post(
            f"{team.proxy.tls}/api/v1/session", json={"code": code}, headers={"origin": "https://e.vil"}
        )
        answer = await http.post(f"{team.proxy.tls}/api/v1/session", json={"code": code}, headers=own)

    assert (strange.status_code, answer.status_code) == (403, 200)
    assert "secure" in answer.headers["set-cookie"].lower()
    assert "strict-transport-security" in answer.headers


async def test_without_a_token_nothing_is_served(team: Team) -> None:
    async with httpx2.AsyncClient(verify=NO_TLS) as http:
        answers = [await http.get(f"{team.proxy.url}{path}") for path in ("/livez", "/readyz", "/api/v1/settings")]

    assert {each.status_code for each in answers} == {401}
