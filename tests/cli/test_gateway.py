"""How a verb reaches the gateway of the data folder: the one that runs there, or one of its own."""

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from interlock.app import gateway as app
from interlock.cli import gateway
from interlock.cli.command import Values
from interlock.cli.gateway import Api, reason_of, through_gateway
from interlock.errors import Code, Exit, InterlockError, Reason
from interlock.store.folder import LOCK, DataFolder, FolderBusy
from tests.cli.running import (
    Beside,
    Interlock,
    configure,
    environment,
    eventually,
    gateway_beside,
    run_process,
    serve_process,
)
from tests.running import server_yaml
from tests.upstream.running import events, stdio_argv

HEAVY = """
import sys
from interlock.cli.main import main

code = main(sys.argv[1:])
heavy = {"pydantic", "rich", "ruamel", "fastapi", "uvicorn", "mcp", "sqlite3", "interlock.app"}
sys.stderr.write(" ".join(["heavy:", *sorted(heavy & sys.modules.keys())]))
sys.exit(code)
"""
"""Runs a verb and says last which of the heavy libraries it loaded."""

HOLDER = """
import sys
from pathlib import Path
from interlock.store.folder import DataFolder
with DataFolder(Path(sys.argv[1])).hold() as hold:
    hold.announce(sys.argv[2])
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "data")


@pytest.fixture
def values(folder: DataFolder) -> Values:
    """The options that every verb has, as parsed."""
    return Values(config=None, data_dir=str(folder.path))


# No gateway runs ------------------------------------------------------------------------------------------------


def test_a_lone_verb_holds_the_folder_while_it_works_and_lets_go(folder: DataFolder, values: Values) -> None:
    async def work(api: Api) -> Exit:
        with pytest.raises(FolderBusy) as busy, folder.hold():
            pass
        assert busy.value.address is None
        return Exit.FINDINGS

    assert through_gateway(values, work) is Exit.FINDINGS
    with folder.hold():
        pass


@pytest.mark.parametrize(("servers", "listed"), [(False, []), (True, ["sample"])])
def test_a_lone_verb_starts_servers_only_if_it_needs_them(values: Values, servers: bool, listed: list[str]) -> None:
    seen: list[str] = []

    async def work(api: Api) -> Exit:
        seen.extend(each["id"] for each in (await api.get("servers"))["items"])
        return Exit.OK

    through_gateway(values, work, servers=servers)

    assert seen == listed


def test_a_lone_verb_waits_for_its_servers_longer_than_an_agent_would(
    il: Interlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "START_SECONDS", 0.0)

    assert il("run-tool", "read_note", "--arg", "name=todo").out == "Approve a call.\n"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("", "Starting 1 server…\n"),
        ("servers: {a: {command: /no}, b: {command: /no}, c: {command: x, enabled: false}}", "Starting 2 servers…\n"),
        ("servers: {a: {command: x, enabled: false}}", ""),
    ],
)
def test_on_a_terminal_a_lone_verb_says_that_it_starts_servers(
    il: Interlock, monkeypatch: pytest.MonkeyPatch, config: str, said: str
) -> None:
    configure(config)
    assert "Starting" not in il("server", "list").err

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    assert il("server", "list").err.startswith(said)
    assert "Starting" not in il("token", "list").err


def test_a_refusal_of_a_gateway_of_its_own_is_told_like_any_other(il: Interlock) -> None:
    done = il("activity", "show", "zz")

    assert (done.exit, done.out) == (2, "")
    assert done.err == "Activity 'zz' not found.\n  List what there is and use its exact name.\n"


def test_a_lone_verb_refuses_a_bad_configuration(il: Interlock) -> None:
    configure("zzz: 1")
    done = il("activity", "list")

    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith("interlock.yaml:1:1: unknown key 'zzz'\n")


@pytest.mark.parametrize("words", [("activity", "list"), ("status",)])
def test_a_folder_that_cannot_be_is_named(il: Interlock, tmp_path: Path, words: tuple[str, ...]) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / LOCK).symlink_to(tmp_path / "elsewhere")
    done = il(*words, "--data-dir", str(data))

    assert (done.exit, done.out) == (2, "")
    assert done.err == f"{data}: Too many levels of symbolic links\n  Choose a folder of yours with --data-dir.\n"


def test_a_database_that_is_none_is_told(il: Interlock, folder: DataFolder) -> None:
    folder.path.mkdir()
    folder.database.write_text("this is no database" * 100)
    done = il("activity", "list", "--data-dir", str(folder.path))

    assert (done.exit, done.out) == (4, "")
    assert done.err.startswith(f"The database of {folder.path} cannot be used: ")


def test_two_lone_verbs_at_once_both_succeed(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    words = ("call", "tool-read", "--tool-name", "sample:list_notes", "--data-dir", data)
    with ThreadPoolExecutor() as pool:
        both = [each.result() for each in [pool.submit(run_process, *words) for _ in range(2)]]
    listed = run_process("activity", "list", "--type", "tool_call", "--json", "--data-dir", data).json

    assert [(each.exit, each.out, each.err) for each in both] == [(0, "todo\nwelcome\n", "")] * 2
    assert len(listed["items"]) == 2


def test_a_gateway_that_ends_sends_nobody_to_its_door_while_it_still_holds_the_folder(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.path.parent)

    async def come_and_go() -> tuple[str | None, str | None]:
        config = gateway.load_config(Values(config=None))
        with folder.hold() as hold:
            async with gateway.own_gateway(config, hold, servers=False, listen=True):
                open_at = folder.announced()
            return open_at, folder.announced()

    open_at, afterwards = asyncio.run(come_and_go())

    assert open_at is not None
    assert afterwards is None


def test_a_verb_gives_up_on_a_command_that_does_not_finish(
    il: Interlock, folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway, "PATIENCE", 0.1)
    with folder.hold():
        done = il("token", "list", "--data-dir", str(folder.path))

    assert (done.exit, done.out) == (4, "")
    assert done.err.startswith(f"Another interlock command works in {folder.path} and does not finish.\n")


# A gateway runs -------------------------------------------------------------------------------------------------


def test_a_verb_goes_through_the_gateway_that_runs(il: Interlock, tmp_path: Path) -> None:
    log, data = tmp_path / "up.log", tmp_path / "data"
    file = tmp_path / "team.yaml"
    file.write_text("servers:\n" + server_yaml("up", stdio_argv(log), trusted=True))
    with serve_process(data, "--config", str(file)):
        eventually(lambda: il("status", "--data-dir", str(data)).exit == 0)
        done = [
            run_process("call", "tool-read", "--tool-name", "up:echo", "--data-dir", str(data)),
            run_process("run-tool", "read_note", "--arg", "name=x", "--data-dir", str(data)),
        ]
        words = ("--server", "up", "--type", "tool_call")
        listed = run_process("activity", "list", *words, "--json", "--data-dir", str(data)).json

    assert [each.exit for each in done] == [0, 5]
    assert [each["tool"] for each in listed["items"]] == ["read_note", "echo"]
    assert len(events(log, "started")) == 1


def test_with_a_running_gateway_the_own_configuration_is_not_read(il: Interlock, beside: Beside) -> None:
    configure("zzz: 1")

    assert il("server", "list").exit == 0


@pytest.mark.parametrize(
    ("words", "loaded"),
    [
        ("activity list --json", "heavy:"),
        ("run-tool odd:read_note", "heavy:"),
        ("status --json", "heavy:"),
        ("stdio", "heavy: pydantic"),  # how long a message may be is in the configuration
    ],
)
def test_a_verb_through_a_running_gateway_loads_none_of_the_heavy_libraries(
    beside: Beside, words: str, loaded: str
) -> None:
    argv = [sys.executable, "-c", HEAVY, *words.split()]
    done = subprocess.run(
        argv, capture_output=True, text=True, env=environment(), stdin=subprocess.DEVNULL, check=False, timeout=60
    )

    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, loaded)


def test_a_lone_verb_loads_nothing_that_only_agents_need(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", HEAVY, "token", "list", "--data-dir", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, env=environment(), check=False, timeout=60)
    loaded = done.stderr.splitlines()[-1].split()

    assert (done.returncode, "interlock.app" in loaded, "mcp" in loaded) == (0, True, False)


def test_what_a_killed_gateway_left_behind_is_not_used(il: Interlock, folder: DataFolder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        address = f"http://127.0.0.1:{stranger.getsockname()[1]}"
        argv = [sys.executable, "-c", HOLDER, str(folder.path), address]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            holder.kill()
        left = (folder.path / LOCK).read_text()
        status = il("status", "--data-dir", str(folder.path))
        done = il("token", "list", "--data-dir", str(folder.path))

        stranger.setblocking(False)
        with pytest.raises(BlockingIOError):
            stranger.accept()
    assert left.endswith(f" {address}")
    assert (status.exit, done.exit) == (4, 0)


def test_a_gateway_that_went_away_is_told(il: Interlock, folder: DataFolder) -> None:
    with folder.hold() as hold:
        folder.keep_credential("il_a_b")
        with socket.create_server(("127.0.0.1", 0)) as closed:
            hold.announce(f"http://127.0.0.1:{closed.getsockname()[1]}")
        done = il("token", "list", "--data-dir", str(folder.path))

    assert (done.exit, done.out) == (4, "")
    assert done.err.startswith("The gateway does not answer: ")
    assert "`interlock status` shows whether it runs" in done.err


def test_a_gateway_that_begins_to_listen_while_a_verb_prepares_its_own_is_used(
    il: Interlock, folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load_and_announce(name: str) -> None:
        hold.announce(address)

    monkeypatch.setattr(gateway, "load_module", load_and_announce)
    with folder.hold() as hold, answering(http(200, '{"items": []}'), asked := list[bytes]()) as address:
        folder.keep_credential("il_a_b")
        done = il("token", "list", "--json", "--data-dir", str(folder.path))

    assert (done.exit, done.json, len(asked)) == (0, {"items": []}, 1)


# What is there instead of a gateway -----------------------------------------------------------------------------


@contextlib.contextmanager
def answering(answer: bytes, asked: list[bytes]) -> Generator[str]:
    """The address of something that gives every connection the same answer."""

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                with peer:
                    asked.append(peer.recv(65536))
                    peer.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def http(status: int, body: str, kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return (head + body).encode()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"hello\r\n",
        http(200, "<html>"),
        http(200, "[1]"),
        http(500, "oops"),
        http(200, "[" * 100_000),
        b"HTTP/1.1 200 x\r\ncontent-length: 10\r\n\r\nshort",
    ],
    ids=["nothing", "no http", "no json", "no object", "no problem", "too deep", "broken off"],
)
def test_what_is_no_gateway_is_not_taken_for_one(il: Interlock, folder: DataFolder, answer: bytes) -> None:
    with folder.hold() as hold, answering(answer, []) as address:
        hold.announce(address)
        folder.keep_credential("il_a_b")
        done = il("token", "list", "--data-dir", str(folder.path))

    assert (done.exit, done.out) == (4, "")
    assert done.err.startswith("The gateway does not answer: ")


@pytest.mark.parametrize(
    ("status", "problem", "exit_code", "said"),
    [
        (403, {"code": "FORBIDDEN", "detail": "No.", "fix": "Ask."}, 3, "No.\n  Ask.\n"),
        (202, {"code": "PENDING", "detail": "Waits."}, 13, "Waits.\n"),
        (421, {"error": "Wrong host."}, 1, "Wrong host.\n"),
        (400, {"code": "NEW_WORD", "detail": "Odd \x1b[2J."}, 1, "Odd <U+001B>[2J.\n"),
        (500, {}, 1, "the gateway refused and did not say why\n"),
    ],
)
def test_a_problem_becomes_a_sentence_and_an_exit_code(
    il: Interlock, folder: DataFolder, status: int, problem: dict[str, str], exit_code: int, said: str
) -> None:
    answer = http(status, json.dumps(problem), "application/problem+json")
    with folder.hold() as hold, answering(answer, []) as address:
        hold.announce(address)
        folder.keep_credential("il_a_b")
        done = il("token", "list", "--data-dir", str(folder.path))

    assert (done.exit, done.out, done.err) == (exit_code, "", said)


def test_each_part_of_a_path_is_one_segment_whatever_is_in_it(folder: DataFolder, values: Values) -> None:
    asked: list[bytes] = []

    async def work(api: Api) -> Exit:
        await api.get("tools", "a", "b/c ?d\r\nx: y%20ü", q="&=", limit=3, server=None)
        await api.post("x", body={"ü": 1})
        await api.delete("x")
        return Exit.OK

    with folder.hold() as hold, answering(http(200, "{}"), asked) as address:
        hold.announce(address)
        folder.keep_credential("il_a_b")
        through_gateway(values, work)

    first, second, third = (each.decode() for each in asked)
    assert first.startswith("GET /api/v1/tools/a/b%2Fc%20%3Fd%0D%0Ax%3A%20y%2520%C3%BC?q=%26%3D&limit=3 HTTP/1.1\r\n")
    assert "authorization: Bearer il_a_b\r\n" in first
    assert second.startswith("POST /api/v1/x HTTP/1.1\r\n")
    assert second.endswith('\r\n\r\n{"ü": 1}')
    assert third.startswith("DELETE /api/v1/x HTTP/1.1\r\n")


@pytest.mark.parametrize("left", [None, "", "il_\u00e4", "a\x00b", b"\xff\xfe"])
def test_without_a_usable_credential_nothing_is_asked(il: Interlock, folder: DataFolder, left: Any) -> None:
    asked: list[bytes] = []
    with folder.hold() as hold, answering(http(200, "{}"), asked) as address:
        hold.announce(address)
        if isinstance(left, bytes):
            folder.credential_file.write_bytes(left)
        elif left is not None:
            folder.credential_file.write_text(left, encoding="utf-8")
        done = il("token", "list", "--data-dir", str(folder.path))

    assert (done.exit, done.out, asked) == (3, "", [])
    assert done.err.startswith(f"The operator's credential in {folder.path} is missing or cannot be read.\n")


def test_a_credential_that_the_gateway_does_not_know_is_refused(il: Interlock, tmp_path: Path) -> None:
    with gateway_beside(tmp_path) as running:
        running.folder.keep_credential("il_a_b")
        done = il("token", "list", "--data-dir", str(running.folder.path))

    assert (done.exit, done.out) == (3, "")


def test_the_reason_of_a_problem_keeps_code_and_fix() -> None:
    problem = {"code": "NOT_FOUND", "detail": "Gone.", "fix": "Look.", "status": 404}

    assert reason_of(problem) == Reason("Gone.", Code.NOT_FOUND, "Look.")


# A gateway that goes away in the middle of a verb ---------------------------------------------------------------


@contextlib.contextmanager
def answering_once() -> Generator[str]:
    """The address of something that answers one request and is gone."""

    def serve() -> None:
        peer, _ = listener.accept()
        listener.close()
        with peer:
            peer.recv(65536)
            peer.sendall(http(200, "{}"))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    ("first", "second", "may_begin_anew"),
    [("get", "post", True), ("get", "delete", True), ("get", "get", False), ("post", "post", False)],
)
def test_a_verb_begins_anew_only_when_it_has_done_nothing_yet(
    folder: DataFolder, first: str, second: str, may_begin_anew: bool
) -> None:
    async def ask(api: gateway.Api, method: str) -> None:
        body: dict[str, Any] = {"body": {}} if method == "post" else {}
        await getattr(api, method)("tokens", **body)

    async def both() -> InterlockError:
        with folder.hold() as hold, answering_once() as address:
            hold.announce(address)
            api = gateway.Api(gateway.remote(address, folder), "il_a_b")
            await ask(api, first)
            with pytest.raises(InterlockError) as refused:
                await ask(api, second)
        return refused.value

    assert isinstance(asyncio.run(both()), gateway.Vanished) is may_begin_anew
