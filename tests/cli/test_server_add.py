"""`interlock server add` and `interlock server import`."""

import json
import os
import shlex
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, Interlock, environment, gateway_beside
from tests.running import Running, server_yaml
from tests.upstream.running import stdio_argv


@pytest.fixture
def own_gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Running]:
    """A gateway of this test alone, because it is changed."""
    text = "servers:\n" + server_yaml("up", stdio_argv(tmp_path / "up.log"))
    with gateway_beside(tmp_path, text) as running:
        monkeypatch.setenv("INTERLOCK_DATA_DIR", str(running.folder.path))
        yield running


@pytest.fixture
def upstream(tmp_path: Path) -> str:
    """The command line of an upstream."""
    return shlex.join(stdio_argv(tmp_path / "new.log"))


@pytest.mark.usefixtures("own_gateway")
def test_a_server_is_added_with_how_many_tools_would_be_held(il: Interlock, upstream: str) -> None:
    done = il("server", "add", "new", "--command", upstream)

    assert done.exit == 0, done.err
    assert done.lines[0] == "Server 'new' is ready."
    assert "read-only" in done.lines[1]
    assert done.lines[2].startswith("Calls would be: ")
    assert " hold" in done.lines[2]


@pytest.mark.usefixtures("own_gateway")
def test_trust_makes_its_word_count(il: Interlock, upstream: str) -> None:
    plain = il("server", "add", "plain", "--command", upstream, "--json").json
    trusted = il("server", "add", "trusted", "--command", upstream, "--trusted", "--json").json

    assert trusted["server"]["trusted"] is True
    assert trusted["tools"]["by_verdict"]["hold"] < plain["tools"]["by_verdict"]["hold"]


@pytest.mark.usefixtures("own_gateway")
def test_a_server_that_does_not_start_is_kept_and_its_problem_named(il: Interlock) -> None:
    done = il("server", "add", "broken", "--command", "/nowhere/at/all")

    assert done.exit == 4
    assert done.lines[0].startswith("Server 'broken' is down: ")
    assert "broken" in il("server", "list").out


@pytest.mark.usefixtures("own_gateway")
def test_a_problem_that_is_a_sentence_gets_no_second_full_stop(il: Interlock) -> None:
    done = il("server", "add", "poor", "--command", "cat", "--env", "A=${env:NOT_SET_ANYWHERE}")

    assert done.exit == 4
    assert done.lines[0].endswith("then `interlock server restart poor`.")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("x",), "one of the arguments --command --url is required"),
        (("x", "--command", "'open"), "--command is no command line"),
        (("x", "--command", ""), "--command is no command line"),
        (("x", "--command", "p", "--env", "hunter2"), "a value of --env has no '='"),
    ],
)
def test_words_that_make_no_sense_are_a_usage_error(il: Interlock, words: tuple[str, ...], error: str) -> None:
    done = il("server", "add", *words)

    assert done.exit == 2
    assert error in done.err
    assert "hunter2" not in done.err


@pytest.mark.usefixtures("own_gateway")
def test_a_secret_on_the_command_line_is_refused_with_the_way_out(il: Interlock) -> None:
    done = il("server", "add", "x", "--url", "http://127.0.0.1:9/", "--header", "Authorization=Bearer hunter2hunter2")

    assert done.exit == 2
    assert "${env:NAME}" in done.err
    assert "hunter2" not in done.err


def test_without_a_gateway_a_server_is_added_for_the_next_one(il: Interlock, upstream: str) -> None:
    assert il("server", "add", "new", "--command", upstream).exit == 0
    listed = il("server", "list", "--json").json["items"]

    assert [(each["id"], each["health"], each["added"]) for each in listed] == [("new", "ready", True)]


@pytest.mark.parametrize(("answer", "trusted"), [("y", True), ("", False), ("no", False)])
def test_on_a_terminal_trust_is_asked_once_and_no_is_the_default(
    il: Interlock, upstream: str, answer: str, trusted: bool
) -> None:
    person, terminal = os.openpty()
    argv = [*COMMAND, "server", "add", "new", "--command", upstream]
    with subprocess.Popen(argv, stdin=terminal, stderr=terminal, stdout=subprocess.PIPE, env=environment()) as process:
        os.close(terminal)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(person, 4096)
        os.write(person, f"{answer}\n".encode())
        assert process.wait(timeout=60) == 0
    os.close(person)

    assert il("server", "list", "--json").json["items"][0]["trusted"] is trusted


# import ---------------------------------------------------------------------------------------------------------

SECRET = "ghp_" + "0123456789" * 4


@pytest.fixture
def config(tmp_path: Path) -> Path:
    command, *arguments = stdio_argv(tmp_path / "imported.log")
    servers = {
        "My Files": {"command": command, "args": arguments, "env": {"TOKEN": SECRET}},
        "in args": {"command": "p", "args": ["--token", "hunter2hunter2"]},
        "interlock": {"command": "interlock", "args": ["stdio"]},
    }
    file = tmp_path / "client.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


def test_a_dry_run_shows_what_would_be_added_and_starts_nothing(il: Interlock, config: Path, tmp_path: Path) -> None:
    done = il("server", "import", str(config), "--dry-run")

    assert done.exit == 20
    assert "my-files: would be added" in done.lines
    assert "set TOKEN for the gateway" in done.out
    assert "in-args: args[1]: looks like a secret, which cannot be imported" in done.lines
    assert "'interlock' is Interlock itself" in done.err
    assert SECRET not in done.out + done.err
    assert "hunter2" not in done.out + done.err
    assert not (tmp_path / "imported.log").exists()


def test_a_dry_run_foresees_what_would_be_refused(il: Interlock) -> None:
    Path("interlock.yaml").write_text("servers: {there: {command: p}}")
    entries = {"there": {"command": "p"}, "odd": {"command": 5}, "empty": {}, "good": {"command": "p"}}
    Path("client.json").write_text(json.dumps({"mcpServers": entries}))
    done = il("server", "import", "client.json", "--dry-run")

    assert (done.exit, done.lines) == (
        20,
        [
            "there: There is a server 'there' already, in the configuration file.",
            "odd: command: Input should be a valid string",
            "empty: server 'empty' needs either 'command' or 'url'",
            "good: would be added",
        ],
    )


@pytest.mark.usefixtures("own_gateway")
def test_what_is_imported_runs_and_what_was_not_is_told(
    il: Interlock, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "x")
    first = il("server", "import", str(config), "--json")
    second = il("server", "import", str(config), "--json")

    assert first.exit == second.exit == 20
    assert [(each["id"], each["imported"]) for each in first.json["items"]] == [("my-files", True), ("in-args", False)]
    assert "There is a server 'my-files' already" in second.json["items"][0]["told"]
    assert "hunter2" not in first.out
    assert SECRET not in first.out


def test_the_files_of_a_client_are_found_in_this_folder(il: Interlock) -> None:
    Path(".mcp.json").write_text('{"mcpServers": {"a": {"command": "p"}}}')
    done = il("server", "import", "--from", "claude-code", "--dry-run")

    assert (done.exit, done.lines) == (0, ["a: would be added"])


def test_a_client_without_a_file_is_told(il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))

    assert "no file of cursor was found" in il("server", "import", "--from", "cursor").err
