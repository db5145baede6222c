"""`interlock serve`, as a process of its own."""

import asyncio
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from interlock.store.audit.keys import PUBLIC
from interlock.store.folder import CHAIN, DataFolder
from tests.cli.conftest import Interlock
from tests.cli.running import COMMAND, environment, eventually, run_process, serve_process
from tests.postgres_server import PostgresServer
from tests.talking import NO_TLS


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
def test_it_starts_with_no_configuration_says_so_serves_and_stops(tmp_path: Path, asked: signal.Signals) -> None:
    port = free_port()
    argv = [sys.executable, "-m", "interlock", "serve", "--port", str(port), "--data-dir", str(tmp_path / "data")]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("INTERLOCK_")}
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment) as process:
        assert process.stderr is not None
        said: list[str] = []
        while not said or "Agents connect" not in said[-1]:
            said.append(process.stderr.readline())
            assert said[-1], said
        alive = httpx2.get(f"http://127.0.0.1:{port}/livez", timeout=10, verify=NO_TLS)
        process.send_signal(asked)
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


def test_listening_to_other_machines_without_a_token_for_an_agent_is_refused(il: Interlock) -> None:
    done = il("serve", "--host", "0.0.0.0", "--port", "0")  # noqa: S104 - that is the point

    assert done.exit == 2
    assert done.err.startswith("listening on 0.0.0.0 needs tokens, and there is none for an agent")
    assert "interlock token create --role agent" in done.err


def test_a_port_that_is_taken_is_named(il: Interlock) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = il("serve", "--port", str(port))

    assert done.exit == 2
    assert done.err.startswith(f"cannot listen on 127.0.0.1:{port}: Address already in use")


def test_a_second_gateway_in_the_same_folder_is_refused_and_told_of_the_first(il: Interlock, tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    with folder.hold() as hold:
        hold.announce("http://127.0.0.1:7373")
        done = il("serve", "--data-dir", str(folder.path))

    assert done.exit == 2
    assert done.err.startswith(f"A gateway works in {folder.path} already and listens on 127.0.0.1:7373.")


def test_a_data_folder_that_cannot_be_is_named(il: Interlock, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = il("serve", "--data-dir", str(tmp_path / "file" / "data"))

    assert done.exit == 2
    assert done.err.startswith(f"{tmp_path / 'file' / 'data'}: Not a directory")


def test_a_gateway_on_postgresql_says_which_database_and_what_is_wrong_when_it_is_gone(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, data = asyncio.run(postgres.new_database()), tmp_path / "data"
    monkeypatch.setenv("INTERLOCK_STORE", f"postgresql://postgres:hunter2@/{name}?host={postgres.folder}")
    argv = [*COMMAND, "serve", "--port", "0", "--data-dir", str(data)]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=environment(), cwd=tmp_path) as process:
        assert process.stderr is not None
        said = ""
        while "Agents connect" not in said:
            said += process.stderr.readline()
            assert process.poll() is None, said
        status = run_process("status", "--data-dir", str(data))
        asyncio.run(postgres.drop(name))
        sealed = run_process("audit", "checkpoint", "--data-dir", str(data))
        process.terminate()
        said += process.stderr.read()
        process.wait(timeout=20)

    told = f"the database {name} in PostgreSQL at {postgres.folder}"
    assert f"activity is recorded in {told}." in said
    assert f"Store:    {told}, used by this gateway alone" in status.lines
    assert "hunter2" not in said + status.out + sealed.err
    assert sealed.exit == 4
    assert "because its database cannot be read" in sealed.err
    assert "anchor" not in sealed.err


def _greeted(process: "subprocess.Popen[str]") -> None:
    """Wait until a gateway serves."""
    assert process.stderr is not None
    while "Agents connect" not in process.stderr.readline():
        assert process.poll() is None


def test_a_gateway_whose_log_a_copy_of_its_folder_goes_on_with_says_that_it_has_ended_and_why(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, data, copy = asyncio.run(postgres.new_database()), tmp_path / "data", tmp_path / "copy"
    monkeypatch.setenv("INTERLOCK_STORE", postgres.address(name))

    def serve(folder: Path) -> "subprocess.Popen[str]":
        argv = [*COMMAND, "serve", "--port", "0", "--data-dir", str(folder)]
        return subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=environment(), cwd=tmp_path)

    with serve(data) as first:
        _greeted(first)
        copy.mkdir(0o700)
        shutil.copy(data / CHAIN, copy)
        refused = run_process("serve", "--port", "0", "--data-dir", str(copy))
        first.send_signal(signal.SIGSTOP)  # as a machine that sleeps
        with serve(copy) as second:
            _greeted(second)
            first.send_signal(signal.SIGCONT)
            _, said = first.communicate(timeout=30)
            second.terminate()
            second.communicate(timeout=30)
    asyncio.run(postgres.drop(name))

    assert (refused.exit, "Nothing was started." in refused.err) == (4, True)
    assert first.returncode == 4
    assert "This gateway has ended: another gateway, which runs elsewhere, goes on with the log of" in said
    assert f"the data folder {data}." in said
    assert "End one of them." in said
    assert not any(word in said for word in ("Nothing was started", "Repair"))


@pytest.mark.parametrize("words", [("token", "list"), ("audit", "verify"), ("audit", "export"), ("db", "check")])
def test_a_database_that_cannot_be_used_is_named_and_nobody_is_sent_to_a_folder_or_a_disk(
    il: Interlock, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("INTERLOCK_STORE", "postgresql://u:hunter2@/db?host=/nowhere")
    done = il(*words)

    assert done.exit == 4
    assert "the database db in PostgreSQL at /nowhere cannot be" in done.err.replace("The database", "the database")
    assert not any(word in done.err for word in ("--data-dir", "room", "hunter2"))


@pytest.mark.sqlite("the disk of the gateway itself is full")
@pytest.mark.parametrize(
    ("wait", "exits", "ended"),
    # Where every call waits for its record nothing is lost that nobody has heard of.
    [("writes", [0, 4, 4], 4), ("all", [4, 4, 4], 0)],
)
def test_a_disk_without_room_is_told_once_on_stderr_in_the_status_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait: str, exits: list[int], ended: int
) -> None:
    monkeypatch.setenv("INTERLOCK_RECORD__WAIT", wait)
    there = ("--data-dir", str(tmp_path / "data"))
    with serve_process(tmp_path / "data") as process:
        assert process.stderr is not None
        eventually((tmp_path / "data" / PUBLIC).exists)  # else it is perhaps the first seal that finds no room
        # The limit on the size of files stands for the disk.
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (512, resource.RLIM_INFINITY))
        calls = [run_process("call", "tool-read", "--tool-name", "sample:list_notes", *there) for _ in exits]
        status = run_process("status", *there)
        process.terminate()
        said, code = process.stderr.read(), process.wait(timeout=20)

    assert ([each.exit for each in calls], code) == (exits, ended)
    assert [line for line in status.lines if line.startswith("Record:")] == [
        "Record:   The last write to the store failed. Calls that need a record are refused."
    ]
    assert said.count("ERROR: Records cannot be written: ") == 1
    assert said.count(f"What happened last could not be recorded in {tmp_path / 'data'}: ") == (ended == 4)
    assert "Traceback" not in said
