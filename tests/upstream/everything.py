"""The official "everything" server, as it comes from npm, and what it received."""

import json
import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
PROGRAM = ROOT / "node_modules" / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
TAP = Path(__file__).with_name("tap.mjs")


def node() -> str:
    """The program that runs JavaScript; `make test` needs it for other checks too."""
    found = shutil.which("node")
    assert found is not None, "node is not on the PATH"
    return found


def everything_argv(log: Path, transport: str = "stdio") -> list[str]:
    """The command line of the server; what it receives is written to the log."""
    return [node(), "--import", TAP.as_uri(), str(PROGRAM), transport, str(log)]


@contextmanager
def everything_over_http(log: Path) -> Generator[str]:
    """Run the server over HTTP and give its URL; the process ends with the block."""
    argv, environment = everything_argv(log, "streamableHttp"), {**os.environ, "PORT": "0"}
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment) as process:
        try:
            assert process.stderr is not None
            said = next(line for line in process.stderr if line.startswith(b"port "))
            yield f"http://127.0.0.1:{int(said.removeprefix(b'port '))}/mcp"
        finally:
            process.kill()


def messages(log: Path) -> list[dict[str, Any]]:
    """Every message that the server received, in order."""
    whole, _, _ = log.read_text(encoding="utf-8").rpartition("\n") if log.exists() else ("", "", "")
    return [json.loads(line) for line in whole.splitlines() if line]
