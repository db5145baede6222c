"""Secrets of every shape, at every depth and in every place: none of them is anywhere but with those who sent it.

A gateway runs as a process of its own, in front of a server that gives everything away. Afterwards all that the gateway
wrote or told to anybody but the caller is searched for what was random in each secret: as it is, which for letters and
digits is also how JSON and URLs write it, and in base64.
"""

import asyncio
import base64
import contextlib
import json
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import re2

from interlock.store.folder import DataFolder
from tests.issued import Issued, one_of_each
from tests.stores import kept_in, store_line
from tests.talking import META, NO_TLS, SECONDS, clean

DEPTHS = range(1, 31)
LEAKY = Path(__file__).parents[1] / "upstream" / "leaky.py"
SAID = ("result", "structured", "tool-error", "rpc-error", "stderr", "description")
"""Where the server gives secrets away."""
SENT = ("value", "key", "json", "url", "intent", "justification", "resolution", "freeze", "rest", "header", "client")
"""Where callers and reviewers send them."""
PLACES = {place: one_of_each(seed) for seed, place in enumerate((*SAID, *SENT, "config"))}
HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
READ = ("/activity?limit=500", "/approvals?limit=500", "/grants", "/freezes", "/servers", "/servers/up/logs?limit=500")
ALSO_READ = ("/rules", "/settings", "/notices", "/lab/runs", "/principals", "/tokens", "/activity/stats")
LOOKS = 600
MOST_SAID = 900
"""How much is said at once where there is a limit."""
MOST_SENT = 40_000
"""How much is sent at once, so that it is kept."""


def texts(place: str) -> list[str]:
    return [each.text for each in PLACES[place]]


def fits_a_header(text: str) -> bool:
    return text.isascii() and text.isprintable()


def nested(value: Any, depth: int) -> Any:
    for level in range(depth):
        value = {"in": value} if level % 2 else [value]
    return value


def handfuls(place: str, most: int = MOST_SAID) -> Iterator[str]:
    """The secrets of a place, as many at once as may be said."""
    line = ""
    for each in texts(place):
        if line and len(line) + len(each) > most:
            yield line
            line = ""
        line += f" {each}"
    yield line


@dataclass
class Leak:
    """A gateway in a process of its own, and everything that it said to those who only watch."""

    http: httpx2.AsyncClient
    credential: str
    told: dict[str, bytes] = field(default_factory=dict[str, bytes])

    async def call(
        self,
        arguments: Any,
        tool: str = "up__read_note",
        meta: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        params = {"name": tool, "arguments": arguments, "_meta": {**META, **(meta or {})}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        mirrored = {**HEADERS, "mcp-method": "tools/call", "mcp-name": tool, **(headers or {})}
        answer = await self.http.post("/mcp", json=body, headers=mirrored)
        return answer.json()

    async def ask(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.credential}"}
        return await self.http.request(method, f"/api/v1{path}", json=body, headers=headers)

    async def watch(self, path: str) -> None:
        """Read a stream until it is cancelled."""
        headers = {"Authorization": f"Bearer {self.credential}"}
        async with self.http.stream("GET", f"/api/v1{path}", headers=headers, timeout=None) as stream:
            async for part in stream.aiter_raw():
                self.told[path] = self.told.get(path, b"") + part


def config_text(folder: Path) -> str:
    """Servers whose URL, headers and environment hold secrets; the second one cannot be reached."""
    kept = texts("config")
    env = ", ".join(f"API_KEY_{at}: {json.dumps(each)}" for at, each in enumerate(kept))
    one_line = [each for each in kept if fits_a_header(each)]
    headers = ", ".join(f"X-Api-Key-{at}: {json.dumps(each)}" for at, each in enumerate(one_line))
    argv = json.dumps([str(LEAKY), str(folder / "secrets.json")])
    return (
        "listen: {port: 0}\nexpose: both\nhold: {answer_after: 20ms, max_pending_per_caller: 500}\n"
        "limits: {calls_per_minute: 100000}\nservers:\n"
        f"  up: {{command: {json.dumps(sys.executable)}, args: {argv}, env: {{{env}}}}}\n"
        f"  far: {{url: 'http://127.0.0.1:9/mcp?access_token={PLACES['config'][33].text}', headers: {{{headers}}}}}\n"
    )


@contextlib.contextmanager
def process_in(folder: Path) -> "Generator[subprocess.Popen[bytes]]":
    """A gateway as a process of its own; what it says is in two files."""
    (folder / "secrets.json").write_text(json.dumps({place: texts(place) for place in SAID}), encoding="utf-8")
    configure(folder, config_text(folder))
    argv = [sys.executable, "-m", "interlock", "serve", "--config", str(folder / "interlock.yaml")]
    argv += ["--data-dir", str(folder / "data")]
    with (
        (folder / "stdout").open("wb") as out,
        (folder / "stderr").open("wb") as err,
        subprocess.Popen(argv, stdout=out, stderr=err, env=clean()) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()


def configure(folder: Path, text: str) -> None:
    (folder / "interlock.yaml").write_text(text + store_line(folder / "data"), encoding="utf-8")


async def eventually(happened: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something that another process brings about."""
    for _ in range(LOOKS):
        if await happened():
            return
        await asyncio.sleep(SECONDS / LOOKS)
    raise AssertionError(happened)


@contextlib.asynccontextmanager
async def leaking(folder: Path) -> AsyncGenerator[Leak]:
    data = DataFolder(folder / "data")

    async def serves() -> bool:
        return data.announced() is not None and data.credential() is not None

    with process_in(folder):
        await eventually(serves)
        async with httpx2.AsyncClient(base_url=data.announced() or "", timeout=SECONDS, verify=NO_TLS) as http:
            yield Leak(http, data.credential() or "")


async def send_everything(leak: Leak) -> None:
    """Have every secret in its place, where there is depth at every depth."""
    for depth in DEPTHS:
        for place in ("result", "structured", "tool-error", "rpc-error"):
            await leak.call({"place": place, "depth": depth})
        for secrets in (nested(texts("value"), depth), nested(dict.fromkeys(texts("key"), 1), depth)):
            assert len(json.dumps(secrets)) < MOST_SENT
            await leak.call({"a": secrets})
        await leak.call({"a": json.dumps(nested(texts("json"), depth))})
        await leak.call({"a": nested([f"https://api.example/v1/{each}" for each in texts("url")], depth)})
        await leak.ask("POST", "/tools/up/read_note/call", {"arguments": {"a": nested(texts("rest"), depth)}})
    await leak.call({"place": "stderr"})


async def say_everything(leak: Leak, folder: Path) -> None:
    """The same where people and programs say something in words."""
    for words in handfuls("intent"):
        intent = {"operation_type": "read", "reason": words}
        await leak.call({"name": "up:read_note", "args": {}, "intent": intent}, "call_tool_read")
        await leak.call({"name": "up:delete_note", "args": {}, "intent": intent}, "call_tool_read")
    for at, words in enumerate(handfuls("justification")):
        await leak.call({"name": f"note {at}", "_justification": words}, "up__delete_note")
    waiting = (await leak.ask("GET", "/approvals?status=pending&limit=500")).json()["items"]
    resolutions = list(handfuls("resolution"))
    assert len(waiting) >= len(resolutions), waiting
    for each, words in zip(waiting, resolutions, strict=False):
        answered = await leak.ask("POST", f"/approvals/{each['id']}/deny", {"resolution": words})
        assert answered.status_code == 200, answered.text
    for words in handfuls("freeze"):
        assert (await leak.ask("POST", "/freeze", {"server": "far", "reason": words})).status_code == 200
    for words in handfuls("client", 150):
        await leak.call({}, meta={"io.modelcontextprotocol/clientInfo": {"name": words, "version": "1"}})
    for each in texts("header"):
        if fits_a_header(each):
            headers = {"user-agent": each, "x-api-key": each, "mcp-session-id": each.replace(" ", "_")}
            await leak.call({}, headers=headers)
    for words in handfuls("config", 3000):
        configure(folder, f"posture: {json.dumps(words)}\nservers: 7\n")


async def read_everything(leak: Leak) -> None:
    for path in (*READ, *ALSO_READ):
        answer = await leak.ask("GET", path)
        assert answer.status_code == 200, (path, answer.text)
        leak.told[path] = answer.content
    for form in ("jsonl", "csv"):
        leak.told[form] = (await leak.ask("GET", f"/activity/export?format={form}")).content
    leak.told["/metrics"] = (await leak.http.get("/metrics")).content


async def told_of_the_config(leak: Leak) -> None:
    async def told() -> bool:
        return bool((await leak.ask("GET", "/activity?type=config_change")).json()["items"])

    await eventually(told)


# The search -------------------------------------------------------------------------------------------------------
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{24,}")


def decoded(blob: bytes) -> bytes:
    """All that could be base64 in it, decoded from each of the places where it may begin."""
    runs = [run[at : at + (len(run) - at) // 4 * 4] for run in _BASE64.findall(blob) for at in range(4)]
    return b"\n".join(map(base64.b64decode, runs))


def found_in(blob: bytes, secrets: Iterable[Issued]) -> set[str]:
    """The kinds of the secrets of which something is in it."""
    bodies = {each.body[:12].encode(): each.kind for each in secrets}
    search = re2.compile(b"|".join(bodies).decode())
    return {bodies[blob[slice(*match.span())]] for match in search.finditer(blob)}


def leaks(blobs: dict[str, bytes]) -> dict[str, dict[str, set[str]]]:
    """What was found: by where it was, and by the place that it came from."""
    leaked: dict[str, dict[str, set[str]]] = {}
    for name, blob in blobs.items():
        searched = blob + decoded(blob)
        places = {place: kinds for place, made in PLACES.items() if (kinds := found_in(searched, made))}
        leaked |= {name: places} if places else {}
    return leaked


def test_the_search_finds_what_it_looks_for() -> None:
    secret = PLACES["value"][0]
    found = {"x": {"value": {secret.kind}}}

    assert leaks({"x": f"x{secret.body}y".encode(), "y": b"nothing"}) == found
    for before in (b"", b"a", b"ab"):
        assert leaks({"x": base64.b64encode(before + secret.body.encode())}) == found


async def test_no_secret_is_anywhere_but_with_those_who_sent_it(tmp_path: Path) -> None:
    async with leaking(tmp_path) as leak, asyncio.TaskGroup() as group:
        watching = [group.create_task(leak.watch(path)) for path in ("/events", "/approvals/stream")]
        await send_everything(leak)
        await say_everything(leak, tmp_path)
        await told_of_the_config(leak)
        answered = await leak.call({"place": "result", "depth": 1})
        await read_everything(leak)
        for each in watching:
            each.cancel()
        kept = {f"while it ran: {name}": blob for name, blob in kept_in(tmp_path / "data").items()}
    folder = [file for file in (tmp_path / "data").rglob("*") if file.is_file() and file.name != "operator.token"]
    written = {str(file): file.read_bytes() for file in (*folder, tmp_path / "stdout", tmp_path / "stderr")}

    assert leaks({**leak.told, **kept, **written}) == {}
    assert leak.told["/events"].count(b"[redacted ") > len(DEPTHS)
    assert len(found_in(json.dumps(answered).encode(), PLACES["result"])) == len(PLACES["result"]), "who asked gets it"
