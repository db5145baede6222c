"""Processes that are measured: where they run, what they use, and how they are asked outside of a measurement.

What is measured has the first core; the upstream and the callers share the second. What is started here is ended here,
with everything it started itself. Needs Linux, for /proc.
"""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 30.0
CORES = sorted(os.sched_getaffinity(0))
PROXY, OTHERS = 0, 1
"""Who gets which core."""
LAST_WORDS = 400
HERE = Path(__file__).parent
UPSTREAM = HERE / "upstream.py"


class Failed(SystemExit):
    """A target could not be measured. Ends the run, unless somebody can go on without that target."""


@dataclass(frozen=True)
class Process:
    """A process that serves on a port of loopback."""

    pid: int
    port: int

    def cpu_seconds(self, *, whole: bool = False) -> float:
        """What it and its children have used so far, without upstreams that they started, unless it is the whole."""
        ticks = sum(int(fields[11]) + int(fields[12]) for fields in _stats(self.pid, whole=whole))
        return ticks / os.sysconf("SC_CLK_TCK")

    def rss(self) -> float:
        """What it and its children weigh in MiB, without upstreams that they started."""
        return sum(int(fields[21]) for fields in _stats(self.pid)) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def settle(self) -> None:
        """Wait until it has nothing left to do, so that what it put off is counted for the call that caused it."""
        until = time.monotonic() + PATIENCE
        before = -1.0
        while (used := self.cpu_seconds()) > before and time.monotonic() < until:
            before = used
            time.sleep(0.1)


def _stats(pid: int, *, whole: bool = False) -> Generator[list[str]]:
    """The fields of /proc/PID/stat that follow the name, which may hold blanks, of each process of a family."""
    for each in family(pid):
        with contextlib.suppress(OSError):
            is_upstream = str(UPSTREAM).encode() in Path(f"/proc/{each}/cmdline").read_bytes()
            if whole or each == pid or not is_upstream:
                yield Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()


def family(pid: int) -> list[int]:
    found = [pid]
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [each for child in path.read_text(encoding="utf-8").split() for each in family(int(child))]
    return found


def busy_seconds() -> float:
    """How long the cores that we use have worked so far, for whomever."""
    lines = Path("/proc/stat").read_text(encoding="utf-8").splitlines()
    cores = {f"cpu{core}" for core in CORES[:2]}
    worked = ([int(ticks) for ticks in line.split()[1:]] for line in lines if line.split()[0] in cores)
    return sum(sum(ticks) - ticks[3] - ticks[4] for ticks in worked) / os.sysconf("SC_CLK_TCK")


def pin(pid: int, core: int) -> None:
    """Bind a process to the first or the second core, if there are two. Threads that it starts later inherit it."""
    if len(CORES) > 1:
        os.sched_setaffinity(pid, {CORES[core]})


@contextlib.contextmanager
def started(
    argv: list[str],
    log: Path,
    core: int,
    env: Mapping[str, str] | None = None,
    *,
    spoken_to: bool = False,
) -> "Generator[subprocess.Popen[bytes]]":
    """A command on a core of its own, in the folder of its log. `spoken_to`: over its input and output."""
    pipe = subprocess.PIPE if spoken_to else None
    with (
        log.open("ab") as said,
        subprocess.Popen(
            argv, cwd=log.parent, env={**os.environ, **(env or {})}, stdin=pipe or subprocess.DEVNULL,
            stdout=pipe or said, stderr=said, start_new_session=True, preexec_fn=lambda: pin(0, core),
        ) as process,
    ):  # fmt: skip
        try:
            yield process
        finally:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE / 2)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def last_words(log: Path) -> str:
    """What a process said last, on one line."""
    return " ".join(log.read_text(encoding="utf-8", errors="replace").split())[-LAST_WORDS:]


@contextlib.contextmanager
def serving(
    argv: list[str], log: Path, port: int, env: Mapping[str, str] | None = None, core: int = PROXY
) -> Generator[Process]:
    """A command that listens on this port, from when it does."""
    with started(argv, log, core, env) as process:
        until = time.monotonic() + 2 * PATIENCE
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > until:
                raise Failed(f"does not listen: {last_words(log)}")
            time.sleep(0.05)
        yield Process(process.pid, port)


def _listens(port: int) -> bool:
    with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", port), timeout=PATIENCE):
        return True
    return False


@contextlib.contextmanager
def target(script: str, folder: Path, core: int, *arguments: str) -> Generator[Process]:
    """A script of this folder; the first argument that all of them take is the port."""
    port = free_port()
    log = folder / f"{script}-{port}.log"
    with serving([sys.executable, str(HERE / f"{script}.py"), str(port), *arguments], log, port, core=core) as process:
        yield process


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def count(upstream: Process) -> int:
    """How many calls the upstream has answered so far."""
    with asked(upstream.port, "GET", "/count") as answer:
        return int(answer.read())


@contextlib.contextmanager
def asked(
    port: int, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> Generator[http.client.HTTPResponse]:
    """The answer to one request outside of the measurement."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        connection.request(method, path, body, {**(headers or {}), "Connection": "close"})
        yield connection.getresponse()
