"""A whole gateway beside servers that misbehave for a while: the others see no error, and it is as good as before then.

The gateway is a process of its own, so that its memory, its files and its children can be counted. Each server is well
until a word in a file tells it how to misbehave, and again as soon as the word is gone.
"""

import asyncio
import json
import os
import re
import signal
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interlock.cli.gateway import running_at
from interlock.forward.pace import Pace
from interlock.store.folder import DataFolder
from tests.cli.running import eventually, run_process, serve_process
from tests.forward.fleets import small
from tests.running import server_yaml
from tests.talking import NO_TLS
from tests.upstream.running import HttpUpstream, http_upstream

FULL = os.environ.get("HYPOTHESIS_PROFILE") == "torture"
"""The full counts in `make torture`, a sample in `make test`."""
FLOOD_MIB = int(os.environ.get("INTERLOCK_TEST_FLOOD_MIB", "1024" if FULL else "64"))
ROUNDS = int(os.environ.get("INTERLOCK_TEST_ROUNDS", "200" if FULL else "6"))
CALLS = 10 * ROUNDS
"""How many calls to each of the others there are at least."""
GOODS = ("good0", "good1", "good2")
CALL_SECONDS = 1
"""How long a call may take before it is given up."""
BACK_SECONDS = 2.0
"""How soon a server has to be usable again once it could be."""
DOUBT_SECONDS = Pace().probe
"""How long the gateway waits for a sign of life before it starts one that hangs for good anew."""
MAX_GROWTH = 32
"""How many MiB a bad server may cost the gateway, at its highest."""

KINDS = {
    "dying": "os._exit(3)",
    "hanging": "while os.path.exists(place): time.sleep(0.01)",
    "hanging for good": "time.sleep(1000)",
    "flooding": "flood()",
    "answering without end": """write(b'{"jsonrpc":"2.0","id":%d,"result":"' % message["id"])
flood()
write(b'"}\\n')""",
    "lying": "for number in range(1_000): say(id=str(number), result={})\nsay(id=-1, result={})",
    "no JSON": "write(b'{\\xff}\\n')",
    "slow": "time.sleep(0.3)\necho(message)",
    "babbling": "for _ in range(2_000): say(method='notifications/message', params={'data': 'x' * 500})\necho(message)",
}
USABLE = {"slow", "babbling"}
"""Who misbehaves like this still answers."""
MOODY = """
place, kind, mib = sys.argv[1], sys.argv[2], int(sys.argv[3])

def flood():
    for _ in range(mib * 16):
        if os.path.exists(place):
            write(b"x" * 65_536)

def call(message):
    if not os.path.exists(place):
        return echo(message)
    exec(CODE[kind], {**globals(), "message": message})

if os.path.exists(place) and kind == "dying":
    os._exit(3)
serve(call)
"""


# The gateway ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Process:
    """A gateway, looked at from outside."""

    url: str
    pid: int
    folder: Path
    far: HttpUpstream
    """A server over HTTP."""

    def forget_the_peak(self) -> int:
        """Let the highest memory begin anew; how much there is now, in KiB."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5", encoding="ascii")
        return self.memory("VmRSS")

    def memory(self, name: str) -> int:
        found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text(encoding="ascii"))
        assert found is not None
        return int(found[1])

    def files(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def children(self) -> list[str]:
        """The states of its children; a `Z` is one that nobody has waited for."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        found = [number for task in tasks for number in (task / "children").read_text(encoding="ascii").split()]
        return [state for state in map(_state, found) if state]

    def misbehave(self, kind: str) -> None:
        self.mood(kind).touch()

    def behave(self, kind: str) -> None:
        self.mood(kind).unlink()

    def mood(self, kind: str) -> Path:
        return self.folder / f"mood of {kind}"


def _state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return ""


def id_of(kind: str) -> str:
    return kind.lower().replace(" ", "-")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[Process]:
    folder = tmp_path_factory.mktemp("misbehaviour")
    program, config, data = folder / "server.py", folder / "interlock.yaml", folder / "data"
    program.write_text(small("any", f"CODE = {KINDS!r}\n{MOODY}").argv[-1], encoding="utf-8")
    argv = [sys.executable, "-I", "-S", str(program)]
    kinds = [*((name, "well") for name in GOODS), *((id_of(kind), kind) for kind in KINDS)]
    servers = [
        server_yaml(name, [*argv, str(folder / f"mood of {kind}"), kind, str(FLOOD_MIB)], call_timeout=CALL_SECONDS)
        for name, kind in kinds
    ]
    head = "posture: open\nexpose: direct\nlimits: {in_flight_per_caller: 1000}\nlisten: {port: 0}\nservers:\n"
    with http_upstream(folder / "far.log") as far:
        config.write_text(f"{head}{''.join(servers)}  far: {{url: '{far.url}'}}\n", encoding="utf-8")
        with serve_process(data, "--config", str(config)) as process:
            eventually(lambda: _ready(data) == len(kinds) + 1)
            yield Process(f"{running_at(DataFolder(data))}/mcp", process.pid, folder, far)


def _ready(data: Path) -> int:
    servers = run_process("status", "--json", "--data-dir", str(data)).json["servers"]
    return [each["health"] for each in servers].count("ready")


# Calls ----------------------------------------------------------------------------------------------------------

META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def answered(http: httpx2.AsyncClient, gateway: Process, server: str, number: int = 0) -> bool:
    """Call a server; whether it gave back what it was given."""
    name = f"{server}__echo"
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
    }
    params: dict[str, Any] = {"name": name, "arguments": {"n": number}, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    answer = (await http.post(gateway.url, content=body, headers=headers)).json()
    return answer.get("result", {}).get("arguments") == {"n": number}


async def call_until(http: httpx2.AsyncClient, gateway: Process, server: str, over: asyncio.Event) -> list[bool]:
    outcomes: list[bool] = []
    while not over.is_set() or len(outcomes) < CALLS:
        outcomes.append(await answered(http, gateway, server, len(outcomes)))
    return outcomes


async def seconds_until_usable(http: httpx2.AsyncClient, gateway: Process, server: str) -> float:
    began = time.monotonic()
    while not await answered(http, gateway, server):
        assert time.monotonic() - began < 10 * BACK_SECONDS
        await asyncio.sleep(0.01)
    return time.monotonic() - began


@dataclass(slots=True)
class Seen:
    """What the others and the gateway had of it."""

    good: list[bool]
    bad: list[bool]
    growth: float
    back: float


async def endure(gateway: Process, kind: str) -> Seen:
    """Let a server misbehave beside calls to the others, then let it be good again."""
    async with httpx2.AsyncClient(timeout=60, verify=NO_TLS) as http:
        assert all([await answered(http, gateway, name) for name in (*GOODS, id_of(kind))])
        before, over = gateway.forget_the_peak(), asyncio.Event()
        gateway.misbehave(kind)
        try:
            async with asyncio.TaskGroup() as group:
                others = [group.create_task(call_until(http, gateway, name, over)) for name in GOODS]
                bad = [await answered(http, gateway, id_of(kind), number) for number in range(ROUNDS)]
                over.set()
        finally:
            gateway.behave(kind)
        back = await seconds_until_usable(http, gateway, id_of(kind))
        growth = (gateway.memory("VmHWM") - before) / 1024
        good = [outcome for each in others for outcome in each.result()]
    return Seen(good, bad, growth, back)


async def bear_the_loss(gateway: Process) -> Seen:
    """Kill the server over HTTP, call it and the others in vain and with success, and let it come back."""
    port = int(gateway.far.url.rpartition(":")[2].removesuffix("/mcp"))
    async with httpx2.AsyncClient(timeout=60, verify=NO_TLS) as http:
        assert await answered(http, gateway, "far")
        before, over = gateway.forget_the_peak(), asyncio.Event()
        os.kill(gateway.far.pid, signal.SIGKILL)
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(call_until(http, gateway, name, over)) for name in GOODS]
            bad = [await answered(http, gateway, "far", number) for number in range(ROUNDS)]
            over.set()
        with http_upstream(gateway.folder / "far.log", port=port):
            back = await seconds_until_usable(http, gateway, "far")
        growth = (gateway.memory("VmHWM") - before) / 1024
    return Seen([outcome for each in others for outcome in each.result()], bad, growth, back)


def test_a_server_elsewhere_that_goes_away_costs_the_others_nothing_and_comes_back(gateway: Process) -> None:
    files = gateway.files()
    seen = asyncio.run(bear_the_loss(gateway))

    assert all(seen.good)
    assert seen.bad == [False] * ROUNDS
    assert seen.growth < MAX_GROWTH
    assert seen.back < BACK_SECONDS
    eventually(lambda: gateway.files() <= files)
    show("gone over HTTP", seen, files, gateway.files())


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_misbehaves_costs_the_others_nothing_and_comes_back(gateway: Process, kind: str) -> None:
    files, children = gateway.files(), len(gateway.children())
    seen = asyncio.run(endure(gateway, kind))

    assert all(seen.good)
    assert seen.bad == [kind in USABLE] * ROUNDS
    assert seen.growth < MAX_GROWTH
    assert seen.back < BACK_SECONDS + (DOUBT_SECONDS if kind == "hanging for good" else 0)
    eventually(lambda: "Z" not in gateway.children() and len(gateway.children()) == children)
    eventually(lambda: gateway.files() <= files)
    show(kind, seen, files, gateway.files())


def show(kind: str, seen: Seen, before: int, after: int) -> None:
    """Tell the figures, to whoever runs pytest with -rP."""
    failed = len(seen.good) - sum(seen.good)
    sys.stdout.write(
        f"{kind}: {len(seen.good)} calls to others, {failed} failed; growth {seen.growth:.1f} MiB; "
        f"usable after {seen.back:.2f} s; files {before} before, {after} after\n"
    )
