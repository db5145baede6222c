"""`interlock stdio`, as a process of its own: its streams, its exit, and who it says it is."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Interlock
from tests.cli.running import COMMAND, configure, environment, run_process
from tests.running import serving
from tests.talking import talking

DISCOVER = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "server/discover",
        "params": {
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        },
    }
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_help_says_who_it_is_for(il: Interlock) -> None:
    done = il("stdio", "--help")

    assert done.exit == 0
    assert "MCP client" in done.out
    assert "INTERLOCK_TOKEN" in done.out


def test_a_client_that_leaves_at_once_is_no_error() -> None:
    done = run_process("stdio")

    assert (done.exit, done.out) == (0, "")
    assert done.err.startswith("Connected as 'local' to a gateway in this process")
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("token", ["il_a_b\r\nx-injected: 1", "zwölf", "two words"])
def test_what_is_no_token_is_refused_without_being_shown(token: str) -> None:
    done = run_process("stdio", INTERLOCK_TOKEN=token)

    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith("INTERLOCK_TOKEN holds something that is no token.")
    assert token not in done.err


def test_a_bad_configuration_is_told_on_stderr_and_nothing_on_stdout() -> None:
    configure("postur: open")
    done = run_process("stdio", stdin=DISCOVER + "\n")

    assert (done.exit, done.out) == (2, "")
    assert "interlock.yaml:1:1" in done.err


def test_a_data_folder_that_cannot_be_used_is_told() -> None:
    Path("file").write_text("x")
    done = run_process("stdio", "--data-dir", "file/folder")

    assert (done.exit, done.out) == (2, "")
    assert "--data-dir" in done.err


def test_stdout_is_for_the_protocol_alone() -> None:
    program = (
        "import os; from interlock.cli.openings import claim_stdout; wire = claim_stdout(); "
        "print('stray', flush=True); os.system('echo child'); os.write(wire, b'line\\n')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout == "line\n"
    assert done.stderr == "stray\nchild\n"


def test_without_a_stdout_there_is_nobody_to_serve() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", '"$@" >&-', "sh", *COMMAND, "stdio"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        check=False,
        timeout=60,
    )

    assert done.returncode in (0, 2)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_servers_are_being_started_ends_them(number: signal.Signals) -> None:
    program = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)"
    configure(f"servers: {{slow: {{command: '{sys.executable}', args: [-c, \"{program}\"]}}}}")
    with subprocess.Popen([*COMMAND, "stdio"], stdin=subprocess.PIPE, env=environment()) as process:
        deadline = time.monotonic() + 30
        while not (Path("pid").exists() and Path("pid").read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(number)
        code = process.wait(timeout=30)
    child = int(Path("pid").read_text())

    assert code == 0
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


async def test_a_configuration_that_went_bad_does_not_keep_clients_from_a_gateway_that_runs(tmp_path: Path) -> None:
    async with serving(tmp_path) as running:
        (tmp_path / "interlock.yaml").write_text("postur: open")
        async with talking(tmp_path) as talk:
            found = await talk.ask("server/discover", 1, modern=True)
            code = await talk.close()
            told = await asyncio.to_thread(talk.errors.read_text)

    assert "2026-07-28" in found["result"]["supportedVersions"]
    assert code == 0
    assert told.startswith(f"Connected as 'local' to the gateway at {running.host}")
