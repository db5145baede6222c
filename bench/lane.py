"""What a call costs on its way through Interlock, against no proxy, a bare one, and that of the official SDK.

32 callers over kept connections send as fast as they are answered, to one target after the other, in rounds; the best
of each figure is compared, because other work shares the machine. Every request has an id and a text of its own, every
answer must be the one to it, and the upstream must have counted as many calls as were answered. CPU is that of the
proxy's processes, with what they put off until after the answer; for `direct` it is that of the upstream. Where there
are two cores, the proxy has one and the upstream and the callers share the other.

Goals: at least 10 times as many calls as the SDK's proxy, at most 200 µs of CPU for a call. Needs Linux, for /proc.
"""

import argparse
import asyncio
import contextlib
import gc
import json
import os
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import uvloop
from lane_targets import MODERN, READ_TOOL, WRITE_TOOL

CALLERS = 32
LEGACY = "2025-11-25"
RATIO_GOAL, CPU_GOAL = 10.0, 200.0
CLEARLY_FASTER = 1.25
"""How much faster than ours `direct` must be: else the callers were measured, and not the proxy."""
PATIENCE = 30.0
WARM_UP = 0.3
FIRST_NUMBER = 100_000_000
"""All ids have as many digits, so all requests have one length."""


@dataclass(frozen=True)
class Row:
    """A row of the table: what is called, where, and how."""

    name: str
    target: str
    variant: str | None = None
    tool: str = READ_TOOL
    version: str = MODERN

    @property
    def rival(self) -> str:
        """The row of the SDK that this one is compared with: the one of its era."""
        return "sdk" if self.version == MODERN else "sdk, legacy"


ROWS = (
    Row("direct", "upstream"),
    Row("bare", "bare"),
    Row("ours", "ours", "call_tool_read"),
    Row("ours, write", "ours", "call_tool_write", WRITE_TOOL),
    Row("sdk", "sdk"),
    Row("ours, legacy", "ours", "call_tool_read", version=LEGACY),
    Row("sdk, legacy", "sdk", version=LEGACY),
)


@dataclass(frozen=True)
class Figures:
    """One round of one row: calls per second, milliseconds that a caller waits, microseconds of CPU for a call."""

    rate: float
    p50: float
    p99: float
    cpu: float


def best_of(rounds: Iterable[Figures]) -> Figures:
    rates, p50s, p99s, cpus = zip(*((each.rate, each.p50, each.p99, each.cpu) for each in rounds), strict=True)
    return Figures(max(rates), min(p50s), min(p99s), min(cpus))


# Processes ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Process:
    """A process that serves on a port of loopback."""

    pid: int
    port: int

    def cpu_seconds(self) -> float:
        """What it and its children have used so far."""
        ticks = 0
        for pid in family(self.pid):
            # The name of a process may hold blanks; what counts follows the last parenthesis.
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def settle(self) -> None:
        """Wait until it has nothing left to do, so that what it put off is counted for the call that caused it."""
        until = time.monotonic() + PATIENCE
        before = -1.0
        while (used := self.cpu_seconds()) > before and time.monotonic() < until:
            before = used
            time.sleep(0.1)


def family(pid: int) -> list[int]:
    children = (Path(path).read_text(encoding="utf-8").split() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    return [pid, *(each for found in children for child in found for each in family(int(child)))]


def pin(pid: int, which: int) -> None:
    """Give a process one core of its own, if there are two. Threads that it starts later inherit it."""
    cores = sorted(os.sched_getaffinity(os.getppid()))
    if len(cores) > 1:
        os.sched_setaffinity(pid, {cores[which]})


@contextlib.contextmanager
def started(argv: list[str], log: Path, core: int) -> "Generator[subprocess.Popen[str]]":
    with log.open("w") as said, subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=said, text=True) as process:
        pin(process.pid, core)
        try:
            yield process
        finally:
            process.terminate()


@contextlib.contextmanager
def target(kind: str, folder: Path, core: int, *arguments: str) -> Generator[Process]:
    script = str(Path(__file__).with_name("lane_targets.py"))
    with started([sys.executable, script, kind, *arguments], folder / f"{kind}.log", core) as process:
        port = process.stdout.readline() if process.stdout else ""
        if not port:
            raise SystemExit((folder / f"{kind}.log").read_text(encoding="utf-8"))
        yield Process(process.pid, int(port))


@contextlib.contextmanager
def gateway(folder: Path, core: int, upstream: int) -> Generator[Process]:
    """`interlock serve` as it is, with one server and the posture of newcomers."""
    config, log, port = folder / "interlock.yaml", folder / "ours.log", free_port()
    server = f"servers: {{up: {{url: 'http://127.0.0.1:{upstream}/mcp'}}}}\n"
    config.write_text("posture: guarded\nexpose: both\n" + server, encoding="utf-8")
    argv = [sys.executable, "-m", "interlock", "serve", "--config", str(config), "--port", str(port)]
    with started([*argv, "--data-dir", str(folder / "data")], log, core) as process:
        until = time.monotonic() + PATIENCE
        while not ready(port):
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(log.read_text(encoding="utf-8"))
            time.sleep(0.05)
        yield Process(process.pid, port)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def ready(port: int) -> bool:
    try:
        return get(port, "/readyz") == {"ready": True}
    except (urllib.error.URLError, ConnectionError):
        return False


def get(port: int, path: str) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE) as answer:
        return json.load(answer)


# Requests -------------------------------------------------------------------------------------------------------


class Requests:
    """The requests of one row: one text, but for the number in its id and the nonce in its argument."""

    def __init__(self, row: Row, port: int) -> None:
        self.run = secrets.token_hex(24)
        headers = {
            "Host": f"127.0.0.1:{port}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": row.version,
        }
        if row.version == MODERN:
            headers |= {"Mcp-Method": "tools/call", "Mcp-Name": row.variant or row.tool}
        else:
            headers |= {"Mcp-Session-Id": session(port, headers)}
        body = json.dumps(_message(row, self.run), separators=(",", ":")).encode()
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        text = f"POST /mcp HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        self._parts = text.split(b"%d" % FIRST_NUMBER)

    def text(self, number: int) -> bytes:
        return (b"%d" % number).join(self._parts)

    def nonce(self, number: int) -> bytes:
        return b"%s-%d" % (self.run.encode(), number)


def _message(row: Row, run: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {"text": f"{run}-{FIRST_NUMBER}"}
    if row.variant is not None:
        intent = {"operation_type": row.variant.removeprefix("call_tool_"), "reason": "to see what a call costs"}
        arguments = {"name": f"up:{row.tool}", "args": arguments, "intent": intent}
    params: dict[str, Any] = {"name": row.variant or row.tool, "arguments": arguments}
    if row.version == MODERN:
        prefix = "io.modelcontextprotocol/"
        params["_meta"] = {
            f"{prefix}protocolVersion": MODERN,
            f"{prefix}clientCapabilities": {},
            f"{prefix}clientInfo": _NAMED,
        }
    return {"jsonrpc": "2.0", "id": FIRST_NUMBER, "method": "tools/call", "params": params}


_NAMED = {"name": "bench", "version": "1"}


def session(port: int, headers: dict[str, str]) -> str:
    """Open a session and say its id."""
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": _NAMED}
    found = post(port, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}, headers)
    opened = {**headers, "Mcp-Session-Id": found}
    post(port, {"jsonrpc": "2.0", "method": "notifications/initialized"}, opened)
    return found


def post(port: int, message: dict[str, Any], headers: dict[str, str]) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/mcp", json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        answer.read()
        return str(answer.headers.get("Mcp-Session-Id", ""))


# Callers --------------------------------------------------------------------------------------------------------


class Load:
    """What the callers of one round share: the next number, the time to stop, and how long each call took."""

    def __init__(self, requests: Requests, seconds: float) -> None:
        self.requests = requests
        self.waits: list[float] = []
        self.began = time.perf_counter()
        self.until = self.began + seconds
        self._number = FIRST_NUMBER

    def next(self) -> int:
        self._number += 1
        return self._number


class Caller(asyncio.Protocol):
    """One connection: sends a request, checks the answer, and so on until the time is over."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._received = b""
        self._number = 0
        self._sent_at = 0.0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def _send(self) -> None:
        self._number, self._received = self._load.next(), b""
        self._sent_at = time.perf_counter()
        self._transport.write(self._load.requests.text(self._number))

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, blank, body = self._received.partition(b"\r\n\r\n")
        if not blank or len(body) < int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            return
        now = time.perf_counter()
        self._load.waits.append(now - self._sent_at)
        if not self._is_right(head, body):
            self._end(f"a wrong answer: {self._received[:600]!r}")
        elif now < self._load.until:
            self._send()
        else:
            self._end()

    def _is_right(self, head: bytes, body: bytes) -> bool:
        return (
            head.startswith(b"HTTP/1.1 200 ")
            and b'"id":%d,' % self._number in body
            and self._load.requests.nonce(self._number) in body
            and b'"isError":true' not in body
        )

    def _end(self, problem: str = "") -> None:
        self._transport.close()
        if not self.done.done():
            self.done.set_exception(SystemExit(problem)) if problem else self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end("" if self.done.done() else f"a connection was lost: {exc}")


async def loaded(port: int, requests: Requests, seconds: float) -> tuple[float, list[float]]:
    """Run the callers for so long; gives the seconds it really took, and what each call took."""
    loop, load = asyncio.get_running_loop(), Load(requests, seconds)
    async with asyncio.timeout(seconds + PATIENCE):
        opened = [await loop.create_connection(lambda: Caller(load), "127.0.0.1", port) for _ in range(CALLERS)]
        await asyncio.gather(*(caller.done for _, caller in opened))
    return time.perf_counter() - load.began, load.waits


def measure(process: Process, requests: Requests, seconds: float, upstream: Process) -> Figures:
    uvloop.run(loaded(process.port, requests, WARM_UP))
    process.settle()
    gc.collect()
    gc.disable()
    counted, used = get(upstream.port, "/count"), process.cpu_seconds()
    took, waits = uvloop.run(loaded(process.port, requests, seconds))
    process.settle()
    counted, used = get(upstream.port, "/count") - counted, process.cpu_seconds() - used
    gc.enable()
    if counted != len(waits):
        raise SystemExit(f"{len(waits)} calls were answered, but the upstream counted {counted}")
    hundredths = statistics.quantiles(waits, n=100)
    return Figures(len(waits) / took, hundredths[49] * 1e3, hundredths[98] * 1e3, used / len(waits) * 1e6)


def measured(seconds: float, rounds: int) -> dict[str, list[Figures]]:
    """All rounds of all rows, by turns."""
    pin(0, 1)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        upstream = stack.enter_context(target("upstream", folder, 1))
        processes = {
            "upstream": upstream,
            "bare": stack.enter_context(target("bare", folder, 0, str(upstream.port))),
            "sdk": stack.enter_context(target("sdk", folder, 0, str(upstream.port))),
            "ours": stack.enter_context(gateway(folder, 0, upstream.port)),
        }
        requests = {row: Requests(row, processes[row.target].port) for row in ROWS}
        taken: dict[str, list[Figures]] = {row.name: [] for row in ROWS}
        for _ in range(rounds):
            for row in ROWS:
                taken[row.name].append(measure(processes[row.target], requests[row], seconds, upstream))
    return taken


# Report ---------------------------------------------------------------------------------------------------------


def show(best: dict[str, Figures]) -> None:
    print("                   calls/s   p50 ms   p99 ms   CPU µs   : direct    : sdk")
    for row in ROWS:
        one = best[row.name]
        direct, rival = one.rate / best["direct"].rate, one.rate / best[row.rival].rate
        print(
            f"  {row.name:14} {one.rate:9,.0f} {one.p50:8.2f} {one.p99:8.2f} {one.cpu:8.0f} {direct:10.2f} {rival:8.1f}"
        )


def goals(best: dict[str, Figures]) -> dict[str, bool]:
    ours, direct, sdk = best["ours"], best["direct"], best["sdk"]
    return {
        f"at least {RATIO_GOAL:g} times the calls of the SDK's proxy": ours.rate >= RATIO_GOAL * sdk.rate,
        f"at most {CPU_GOAL:g} µs of CPU for a call": ours.cpu <= CPU_GOAL,
        "the callers are not what was measured": direct.rate >= CLEARLY_FASTER * ours.rate,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, metavar="N", help="of each row in each round")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every round there as well")
    wanted = parser.parse_args()
    taken = measured(wanted.seconds, wanted.rounds)
    best = {name: best_of(rounds) for name, rounds in taken.items()}
    print(f"lane: {CALLERS} callers, best of {wanted.rounds} interleaved rounds of {wanted.seconds:g} s")
    show(best)
    reached = goals(best)
    for goal, is_reached in reached.items():
        print(f"  goal {'reached' if is_reached else 'MISSED'}: {goal}")
    if wanted.json is not None:
        rows = {name: [asdict(each) for each in rounds] for name, rounds in taken.items()}
        wanted.json.write_text(json.dumps({"rounds": rows, "goals": reached}, indent=1), encoding="utf-8")
    return 0 if all(reached.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
