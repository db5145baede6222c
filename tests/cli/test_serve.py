"""`interlock serve`, as a process of its own."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.cli.conftest import Interlock


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_it_starts_with_no_configuration_says_so_serves_and_stops(tmp_path: Path) -> None:
    port = free_port()
    argv = [sys.executable, "-m", "interlock", "serve", "--port", str(port), "--data-dir", str(tmp_path / "data")]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("INTERLOCK_")}
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment) as process:
        assert process.stderr is not None
        said: list[str] = []
        while not said or "Agents connect" not in said[-1]:
            said.append(process.stderr.readline())
            assert said[-1], said
        alive = httpx2.get(f"http://127.0.0.1:{port}/livez", timeout=10)
        process.send_signal(signal.SIGINT)
        ended = process.wait(timeout=20)

    assert said[0].startswith("No server is configured, so the bundled sample server is used.")
    assert said[1] == "  sample: ready, 6 tools\n"
    assert said[-1].startswith(f"Agents connect to http://127.0.0.1:{port}/mcp")
    assert alive.json() == {"alive": True}
    assert ended == 0
    assert (tmp_path / "data" / "interlock.db").is_file()


@pytest.mark.parametrize("port", ["70000", "-1"])
def test_a_port_that_cannot_be_is_a_usage_error(il: Interlock, port: str) -> None:
    done = il("serve", "--port", port)

    assert done.exit == 2
    assert done.err.startswith("--port")


def test_listening_to_other_machines_is_refused(il: Interlock) -> None:
    done = il("serve", "--host", "0.0.0.0")  # noqa: S104 - that is the point

    assert done.exit == 2
    assert "refused" in done.err
