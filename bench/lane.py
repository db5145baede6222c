"""What a call costs on its way through Interlock, against no proxy, a bare one, and that of the official SDK.

32 callers over kept connections send as fast as they are answered, to one target after the other, in rounds; the best
of each figure is compared, because other work shares the machine. Every request has an id and a text of its own, every
answer must be the one to it, and the upstream must have counted as many calls as were answered. CPU is that of the
proxy's processes, with what they put off until after the answer; for `direct` it is that of the upstream. Where there
are two cores, the proxy has one and the upstream and the callers share the other. Ratios are of calls per second, and
those of the SDK are taken within one era of the protocol.

Goals: at least 10 times as many calls as the SDK's proxy, at most 200 µs of CPU for a call. Needs Linux, for /proc.
"""

import argparse
import asyncio
import contextlib
import gc
import http.client
import json
import os
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterable
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, cast

import uvloop

from lane_targets import MODERN, READ_TOOL, WRITE_TOOL

CALLERS = 32
LEGACY = "2025-11-25"
RATIO_GOAL, CPU_GOAL = 10.0, 200.0
CLEARLY_FASTER = 1.25
"""How much faster than ours `direct` must be: else the callers were measured, and not the proxy."""
QUIET = 0.15
"""How much of the cores others may use in the quietest round of a row. With more, calls per second are theirs too."""
PATIENCE = 30.0
WARM_UP = 0.3
CORES = sorted(os.sched_getaffinity(0))
PROXY, OTHERS = 0, 1
"""Who gets which core."""
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
    """One round of one row: calls per second, milliseconds that a caller waits, microseconds of CPU for a call, and
    which share of the cores others used meanwhile."""

    rate: float
    p50: float
    p99: float
    cpu: float
    others: float


def best_of(rounds: Iterable[Figures]) -> Figures:
    rates, *rest = zip(*map(astuple, rounds), strict=True)
    return Figures(max(rates), *map(min, rest))


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


def busy_seconds() -> float:
    """How long the cores that we use have worked so far, for whomever."""
    lines = Path("/proc/stat").read_text(encoding="utf-8").splitlines()
    cores = {f"cpu{core}" for core in CORES[:2]}
    worked = ([int(ticks) for ticks in line.split()[1:]] for line in lines if line.split()[0] in cores)
    return sum(sum(ticks) - ticks[3] - ticks[4] for ticks in worked) / os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    children = (Path(path).read_text(encoding="utf-8").split() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    return [pid, *(each for found in children for child in found for each in family(int(child)))]


def pin(pid: int, core: int) -> None:
    """Bind a process to the first or the second core, if there are two. Threads that it starts later inherit it."""
    if len(CORES) > 1:
        os.sched_setaffinity(pid, {CORES[core]})


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
        return asked(port, "GET", "/readyz").status == 200
    except ConnectionError:
        return False


def count(upstream: Process) -> int:
    """How many calls the upstream has answered so far."""
    return int(asked(upstream.port, "GET", "/count").read())


def asked(
    port: int, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> http.client.HTTPResponse:
    """The answer to one request outside of the measurement."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request(method, path, body, {**(headers or {}), "Connection": "close"})
    return connection.getresponse()


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
    with asked(port, "POST", "/mcp", json.dumps(message).encode(), headers) as answer:
        said = answer.read()
        if answer.status not in (200, 202):
            raise SystemExit(f"{message['method']} was refused: {said!r}")
        return answer.getheader("Mcp-Session-Id", "")


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


@dataclass(frozen=True)
class Reading:
    """The meters at one moment."""

    at: float
    calls: int
    cpu: float
    others: float

    @classmethod
    def of(cls, process: Process, upstream: Process) -> "Reading":
        used = process.cpu_seconds()
        ours = time.process_time() + used + (upstream.cpu_seconds() if upstream is not process else 0.0)
        return cls(time.perf_counter(), count(upstream), used, busy_seconds() - ours)


def measure(process: Process, requests: Requests, seconds: float, upstream: Process) -> Figures:
    uvloop.run(loaded(process.port, requests, WARM_UP))
    process.settle()
    gc.collect()
    gc.disable()
    before = Reading.of(process, upstream)
    took, waits = uvloop.run(loaded(process.port, requests, seconds))
    process.settle()
    after = Reading.of(process, upstream)
    gc.enable()
    calls = len(waits)
    if after.calls - before.calls != calls:
        raise SystemExit(f"{calls} calls were answered, but the upstream counted {after.calls - before.calls}")
    hundredths = statistics.quantiles(waits, n=100)
    return Figures(
        rate=calls / took,
        p50=hundredths[49] * 1e3,
        p99=hundredths[98] * 1e3,
        cpu=(after.cpu - before.cpu) / calls * 1e6,
        others=(after.others - before.others) / (after.at - before.at) / len(CORES[:2]),
    )


def measured(seconds: float, rounds: int) -> dict[str, list[Figures]]:
    """All rounds of all rows, by turns."""
    pin(os.getpid(), OTHERS)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        upstream = stack.enter_context(target("upstream", folder, OTHERS))
        processes = {
            "upstream": upstream,
            "bare": stack.enter_context(target("bare", folder, PROXY, str(upstream.port))),
            "sdk": stack.enter_context(target("sdk", folder, PROXY, str(upstream.port))),
            "ours": stack.enter_context(gateway(folder, PROXY, upstream.port)),
        }
        requests = {row: Requests(row, processes[row.target].port) for row in ROWS}
        taken: dict[str, list[Figures]] = {row.name: [] for row in ROWS}
        for _ in range(rounds):
            for row in ROWS:
                taken[row.name].append(measure(processes[row.target], requests[row], seconds, upstream))
    return taken


# Report ---------------------------------------------------------------------------------------------------------


def show(best: dict[str, Figures]) -> None:
    print("                   calls/s   p50 ms   p99 ms   CPU µs   : direct    : sdk   others")
    for row in ROWS:
        one = best[row.name]
        figures = f"{one.rate:9,.0f} {one.p50:8.2f} {one.p99:8.2f} {one.cpu:8.0f}"
        ratios = f"{one.rate / best['direct'].rate:10.2f} {one.rate / best[row.rival].rate:8.1f}"
        print(f"  {row.name:14} {figures} {ratios} {one.others:7.0%}")


def goals(best: dict[str, Figures]) -> dict[str, str]:
    ours, direct, sdk = best["ours"], best["direct"], best["sdk"]
    quiet = all(each.others <= QUIET for each in (ours, direct, sdk))
    reached = {
        f"at most {CPU_GOAL:g} µs of CPU for a call": ours.cpu <= CPU_GOAL,
        f"at least {RATIO_GOAL:g} times the calls of the SDK's proxy": ours.rate >= RATIO_GOAL * sdk.rate,
        "the callers are not what was measured": direct.rate >= CLEARLY_FASTER * ours.rate,
    }
    judged = {goal: "reached" if is_reached else "MISSED" for goal, is_reached in reached.items()}
    return judged if quiet else {**judged, "the machine was left to the measurement": "MISSED"}


def main() -> int:
    parser = argparse.ArgumentParser(description="What a call costs on its way through Interlock.")
    parser.add_argument("--seconds", type=float, default=1.5, metavar="N", help="of each row in each round")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every round there as well")
    wanted = parser.parse_args()
    taken = measured(wanted.seconds, wanted.rounds)
    best = {name: best_of(rounds) for name, rounds in taken.items()}
    print(f"lane: {CALLERS} callers, best of {wanted.rounds} interleaved rounds of {wanted.seconds:g} s")
    show(best)
    judged = goals(best)
    for goal, verdict in judged.items():
        print(f"  goal {verdict}: {goal}")
    if wanted.json is not None:
        rows = {name: [asdict(each) for each in rounds] for name, rounds in taken.items()}
        wanted.json.write_text(json.dumps({"rounds": rows, "goals": judged}, indent=1), encoding="utf-8")
    return 0 if set(judged.values()) == {"reached"} else 1


if __name__ == "__main__":
    sys.exit(main())
