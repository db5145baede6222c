"""Starting the upstream of the tests, and reading what it received."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("server.py")


@dataclass(frozen=True, slots=True)
class Received:
    """One message as it arrived: its exact bytes and, over HTTP, the request line and the headers."""

    raw: bytes
    http: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def message(self) -> Any:
        """The message, or None when there was no body."""
        return json.loads(self.raw) if self.raw else None

    @property
    def method(self) -> str | None:
        """The JSON-RPC method; None for an answer and for a request without a body."""
        return self.message.get("method") if self.raw else None

    def header(self, name: str) -> str | None:
        """The first header of this name, in any spelling."""
        return next((value for each, value in self.headers if each.lower() == name.lower()), None)


def _entries(log: Path) -> list[dict[str, Any]]:
    if not log.exists():
        return []
    # The last line may be half written while we look.
    whole, _, _ = log.read_text(encoding="utf-8").rpartition("\n")
    return [json.loads(line) for line in whole.splitlines()]


def received(log: Path) -> list[Received]:
    """Every message that the upstream received, in order."""
    return [
        Received(
            entry["raw"].encode("utf-8", "surrogateescape"),
            entry.get("http", ""),
            tuple((name, value) for name, value in entry.get("headers", [])),
        )
        for entry in _entries(log)
        if entry["event"] == "received"
    ]


def events(log: Path, event: str) -> list[dict[str, Any]]:
    """What else the upstream wrote down: `started` with its pid, `cancelled` with the id of the call."""
    return [entry for entry in _entries(log) if entry["event"] == event]


def stdio_argv(log: Path, *, era: str = "both", tools: Path | None = None, many: int = 0) -> list[str]:
    """The command line of the upstream over stdio. With a file of tools it lists those, as soon as there is one."""
    listed = [] if tools is None else ["--tools", str(tools)]
    return [sys.executable, str(SERVER), "--log", str(log), "--era", era, "--many", str(many), *listed]


def list_other_tools(log: Path, file: Path, tools: list[dict[str, Any]]) -> None:
    """Have the upstream that runs over stdio list other tools, and say so."""
    written = file.with_suffix(".new")
    written.write_text(json.dumps(tools), encoding="utf-8")
    written.replace(file)
    os.kill(events(log, "started")[-1]["pid"], signal.SIGUSR1)


def only_once(argv: list[str], mark: Path) -> list[str]:
    """The command line of a program that does not start a second time; the first start leaves a mark."""
    return ["sh", "-c", 'test -e "$0" && exit 7; : > "$0"; exec "$@"', str(mark), *argv]


@dataclass(frozen=True, slots=True)
class HttpUpstream:
    """The upstream while it runs over HTTP."""

    url: str
    pid: int
    log: Path

    def received(self) -> list[Received]:
        return received(self.log)


@contextmanager
def http_upstream(log: Path, *, era: str = "both", sse: bool = False, port: int = 0) -> Generator[HttpUpstream]:
    """Run the upstream over HTTP; the process ends with the block."""
    argv = [*stdio_argv(log, era=era), "--http", str(port), *(["--sse"] if sse else [])]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment) as process:
        try:
            assert process.stdout is not None
            taken = int(process.stdout.readline())
            yield HttpUpstream(f"http://127.0.0.1:{taken}/mcp", process.pid, log)
        finally:
            process.kill()
