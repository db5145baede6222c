"""Messages that nobody sane sends, from clients and from servers: each request is answered once, and nothing is left.

The gateway is a process of its own. What failed can be had again with the seed that is told: INTERLOCK_TEST_SEED.
"""

import asyncio
import contextlib
import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import httpx2
import pytest

from interlock.cli.gateway import running_at
from interlock.core.health import Health
from interlock.forward.upstream import UpstreamSpec
from interlock.sent import FAILURES
from interlock.store.folder import DataFolder
from tests.cli.running import COMMAND, environment, eventually, run_process, serve_process
from tests.forward.children import python
from tests.forward.fleets import SERVER, Watched, open_files, small, watched
from tests.forward.raw_server import Peer, RawServer
from tests.running import server_yaml
from tests.talking import NO_TLS
from tests.torture.fuzzing import Fuzzer

FULL = os.environ.get("HYPOTHESIS_PROFILE") == "torture"
MESSAGES = int(os.environ.get("INTERLOCK_TEST_FUZZ", "100000" if FULL else "2000"))
SEED = os.environ.get("INTERLOCK_TEST_SEED") or secrets.token_hex(4)
BY_HTTP, BY_STDIO, BY_SERVER = MESSAGES * 4 // 10, MESSAGES * 2 // 10, MESSAGES * 2 // 10
"""How many come each way; from servers over stdio and over HTTP as many each."""
AT_ONCE = 8
PER_CALL = 20
"""How many messages a hostile server sends before it answers a call."""
MAX_GROWTH = 64
"""How many MiB all of it may cost the gateway."""
SECONDS = 60
MODERN = "2026-07-28"
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}

HOSTILE = """
sys.path.insert(0, sys.argv[1])
from fuzzing import Fuzzer

def call(message):
    fuzzer = Fuzzer("%s %d" % (sys.argv[2], message["params"]["arguments"]["n"]))
    for _ in range(int(sys.argv[3])):
        write((fuzzer.damaged() if fuzzer.chance(0.03) else fuzzer.told(answers=True)).replace(b"\\n", b"") + b"\\n")
    echo(message)

serve(call)
"""
"""A server over stdio. What is damaged often ends the link, and starting anew takes time, so there is little. What it
says follows from the number of the call: if each life began with the same words, one bad beginning would be all."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway, looked at from outside."""

    url: str
    pid: int
    folder: Path

    def memory(self) -> int:
        """In KiB."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmRSS:")[2].split()[0])

    def files(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[Gateway]:
    folder = tmp_path_factory.mktemp("fuzz")
    program, config, data = folder / "server.py", folder / "interlock.yaml", folder / "data"
    program.write_text(small("good").argv[-1], encoding="utf-8")
    head = "posture: open\nexpose: direct\nlimits: {in_flight_per_caller: 1000}\nlisten: {port: 0}\nservers:\n"
    good = server_yaml("good", [sys.executable, "-I", "-S", str(program)])
    config.write_text(head + good, encoding="utf-8")
    with serve_process(data, "--config", str(config)) as process:
        eventually(lambda: _ready(data) == 1)
        # Nobody reads what it logs, and it may have much to say.
        threading.Thread(target=process.stderr.read, daemon=True).start()  # pyright: ignore[reportOptionalMemberAccess]
        yield Gateway(f"{running_at(DataFolder(data))}/mcp", process.pid, data)
        assert process.poll() is None


def _ready(data: Path) -> int:
    servers = run_process("status", "--json", "--data-dir", str(data)).json["servers"]
    return [each["health"] for each in servers].count("ready")


@contextlib.contextmanager
def bounded(gateway: Gateway) -> Generator[None]:
    """What happens inside costs the gateway no file and little memory."""
    files, memory = gateway.files(), gateway.memory()
    yield
    grown = (gateway.memory() - memory) / 1024
    assert grown < MAX_GROWTH, f"{grown:.0f} MiB, seed {SEED}"
    eventually(lambda: gateway.files() <= files + AT_ONCE)


# Answers --------------------------------------------------------------------------------------------------------


def is_answer(value: Any, message_id: object) -> bool:
    """Whether this is a proper answer to the request with this id."""
    if not isinstance(value, dict):
        return False
    members = cast("dict[str, Any]", value)
    if members.get("jsonrpc") != "2.0" or members.get("id", message_id) != message_id:
        return False
    if "error" not in members:
        return isinstance(members.get("result"), dict)
    error = members["error"]
    return "result" not in members and isinstance(error["code"], int) and isinstance(error["message"], str)


def answers_in(response: httpx2.Response) -> list[Any]:
    """The answers in a response: one, or those among the events of a stream."""
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        return [response.json()]
    told = [line.partition(":")[2] for line in response.text.splitlines() if line.startswith("data:")]
    messages = [json.loads(each) for each in told if each.strip()]
    return [each for each in messages if "result" in each or "error" in each]


def is_well(response: httpx2.Response, message_id: object) -> bool:
    """Whether a request was answered as it should be: once, or by a refusal of ours."""
    if response.status_code >= 500:
        return False
    if response.status_code == 202:
        return message_id is None
    answers = answers_in(response)
    refused = response.status_code >= 400 and isinstance(answers[0].get("error"), str)
    return refused or (len(answers) == 1 and is_answer(answers[0], message_id or answers[0].get("id")))


# Clients --------------------------------------------------------------------------------------------------------


async def post(http: httpx2.AsyncClient, url: str, body: bytes, headers: dict[str, str]) -> httpx2.Response:
    return await http.post(url, content=body, headers={**HEADERS, **headers})


async def opened(http: httpx2.AsyncClient, url: str) -> dict[str, str]:
    """The headers of a session of the older protocol."""
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode()
    answer = await post(http, url, body, {})
    headers = {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    await post(http, url, b'{"jsonrpc":"2.0","method":"notifications/initialized"}', headers)
    return headers


async def send_one(http: httpx2.AsyncClient, url: str, fuzzer: Fuzzer, legacy: dict[str, str], number: int) -> None:
    is_modern, message_id, headers = fuzzer.chance(0.5), None, legacy
    body = fuzzer.damaged()
    if fuzzer.chance(0.6):
        message_id = f"m{number}"
        message = fuzzer.request(message_id)
        if message["method"] == "initialize":  # a session each; how many there may be is shown elsewhere
            message["method"] = "ping"
        if is_modern and fuzzer.chance(0.9):
            message["params"]["_meta"] = META
        body = json.dumps(message).encode()
        name = message["params"].get("name")
        headers = {"mcp-method": message["method"], "mcp-name": name if isinstance(name, str) else ""}
        headers = {key: value for key, value in headers.items() if value.isascii() and value.isprintable()}
        headers = {**headers, "mcp-protocol-version": MODERN} if is_modern else legacy
    response = await post(http, url, body, headers)
    assert is_well(response, message_id), f"seed {SEED}, {body!r}: {response.status_code} {response.text[:500]}"


async def test_clients_over_http(gateway: Gateway) -> None:
    numbers = iter(range(BY_HTTP))

    async def send(worker: int) -> None:
        fuzzer = Fuzzer(f"{SEED} {worker}")
        async with httpx2.AsyncClient(timeout=SECONDS, trust_env=False, verify=NO_TLS) as http:
            legacy = await opened(http, gateway.url)
            for number in numbers:
                await send_one(http, gateway.url, fuzzer, legacy, number)
            await http.delete(gateway.url, headers=legacy)

    with bounded(gateway):
        async with asyncio.TaskGroup() as group:
            for worker in range(AT_ONCE):
                group.create_task(send(worker))


def test_a_client_over_stdio(gateway: Gateway) -> None:
    fuzzer, expected, lines = Fuzzer(f"{SEED} stdio"), set[str](), list[bytes]()
    for number in range(BY_STDIO):
        if fuzzer.chance(0.6):
            message = fuzzer.request(f"s{number}")
            message["method"] = "ping" if message["method"] == "initialize" else message["method"]
            expected.add(message["id"])
            lines.append(json.dumps(message).encode())
        else:
            lines.append(fuzzer.damaged().replace(b"\n", b"").replace(b"\r", b""))
    with bounded(gateway):
        answers = conversed(gateway.folder, lines, expected)
    ours = [each["id"] for each in answers if each.get("id") in expected]

    assert sorted(ours) == sorted(expected), f"seed {SEED}: {len(ours)} of {len(expected)}"
    assert [each for each in answers if "method" not in each and not is_answer(each, each.get("id"))] == []


def _write(pipe: IO[bytes], lines: list[bytes]) -> None:
    pipe.write(b"\n".join(lines) + b"\n")
    pipe.flush()


def conversed(data: Path, lines: list[bytes], expected: set[str]) -> list[Any]:
    """What `interlock stdio` answers to these lines, until all that is expected has come and it has ended."""
    argv = [*COMMAND, "stdio", "--data-dir", str(data)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        writer = threading.Thread(target=_write, args=(process.stdin, lines))
        guard = threading.Timer(120 + len(lines) / 50, process.kill)
        writer.start()
        guard.start()
        missing, answers = set(expected), list[Any]()
        for line in process.stdout:
            answers.append(json.loads(line))
            missing.discard(answers[-1].get("id"))
            if not missing and not process.stdin.closed:
                writer.join()
                process.stdin.close()
        guard.cancel()
    assert process.returncode == 0, f"seed {SEED}: {len(missing)} answers did not come"
    return answers


# Servers --------------------------------------------------------------------------------------------------------


async def endured(seen: Watched, server: str, calls: int) -> int:
    """Call a hostile server so often; how many calls it answered. Each ends, in an answer or in a failure we know."""
    answered = 0
    for number in range(calls):
        try:
            async with asyncio.timeout(SECONDS):
                answered += "arguments" in await seen.call(server, arguments=b'{"n":%d}' % number)
        except FAILURES:
            async with asyncio.timeout(SECONDS):
                await seen.is_now(server, Health.READY)
    return answered


async def test_a_server_over_stdio(tmp_path: Path) -> None:
    files = open_files()
    argv = (*python(SERVER + HOSTILE), str(Path(__file__).parent), SEED, str(PER_CALL))
    async with watched([UpstreamSpec("bad", "bad", argv, call_seconds=5), small("good")]) as seen:
        answered = await endured(seen, "bad", BY_SERVER // PER_CALL)
        other = [await seen.call("good") for _ in range(20)]

    assert answered > BY_SERVER // PER_CALL // 10, f"seed {SEED}"
    assert [each for each in other if "arguments" not in each] == []
    assert open_files() <= files


async def hostile_answers(peer: Peer, fuzzer: Fuzzer) -> None:
    """A server over HTTP that says a lot before it answers a call, and often damages the answer."""
    while True:
        received = await peer.request()
        message: dict[str, Any] = json.loads(received.body) if received.body else {}
        method = str(message.get("method"))
        if "id" not in message:
            status = "202 Accepted" if received.line.startswith("POST") else "405 Method Not Allowed"
            await peer.send(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())
            continue
        known: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "serverInfo": {"name": "x", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [], "arguments": {}},
        }
        outcome: dict[str, Any] = (
            {"result": known[method]} if method in known else {"error": {"code": -32601, "message": "no"}}
        )
        answer = json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}).encode()
        await peer.send(_said(fuzzer, answer) if method == "tools/call" else _whole("application/json", answer))


def _whole(kind: str, body: bytes) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def _said(fuzzer: Fuzzer, answer: bytes) -> bytes:
    if fuzzer.chance(0.05):
        return _whole("application/json", fuzzer.damaged())
    damage = 0.005 if fuzzer.chance(0.7) else 0.2
    events = [
        fuzzer.damaged() if fuzzer.chance(damage) else fuzzer.told(answers=fuzzer.chance(damage))
        for _ in range(PER_CALL)
    ]
    return _whole("text/event-stream", b"".join(b"data: %b\n\n" % each for each in [*events, answer]))


async def test_a_server_over_http() -> None:
    fuzzer, files = Fuzzer(f"{SEED} http"), open_files()
    async with RawServer(lambda peer: hostile_answers(peer, fuzzer)) as server:
        spec = UpstreamSpec("far", "far", url=server.url, call_seconds=5)
        async with watched([spec, small("good")]) as seen:
            answered = await endured(seen, "far", BY_SERVER // PER_CALL)
            other = [await seen.call("good") for _ in range(20)]

    assert answered > BY_SERVER // PER_CALL // 10, f"seed {SEED}"
    assert [each for each in other if "arguments" not in each] == []
    assert open_files() <= files
