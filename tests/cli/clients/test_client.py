"""`interlock client`: list, connect, diff, undo."""

import asyncio
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.cli.clients.file import surroundings
from interlock.cli.clients.table import CLIENTS
from tests.cli.golden import SECRETS, golden, place
from tests.cli.running import COMMAND, Interlock, Outcome, configure, environment
from tests.postgres_server import PostgresServer


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    return tmp_path / "home"


FILES = "servers: {files: {command: /opt/tools/mcp-files, args: [--root, /srv/ünïcode docs]}}\n"


def hides_secrets(*outcomes: Outcome) -> bool:
    return not [each for each in SECRETS for done in outcomes if each in done.out + done.err]


# connect and undo -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_connecting_and_undoing_gives_the_bytes_back(il: Interlock, client: str) -> None:
    configure(FILES)
    file = place(client, surroundings())
    file.chmod(0o640)

    shown, connected = il("client", "diff", client), il("client", "connect", client, "--yes")
    written = file.read_bytes()
    again = il("client", "connect", client, "--yes")

    assert (shown.exit, connected.exit, again.exit) == (0, 0, 0)
    assert shown.out == connected.out
    assert again.lines == ["Nothing to change."]
    assert b"interlock" in written
    assert file.stat().st_mode & 0o777 == 0o640
    assert il("client", "undo", client).exit == 0
    assert file.read_bytes() == golden(client)
    assert hides_secrets(shown, connected)


@pytest.mark.parametrize("client", [name for name, each in CLIENTS.items() if each.url])
def test_over_http_too(il: Interlock, client: str) -> None:
    file = place(client, surroundings())

    assert il("client", "connect", client, "--http", "--yes").exit == 0
    assert b"http://127.0.0.1:7373/mcp" in file.read_bytes()
    assert il("client", "list", "--json").json["items"][list(CLIENTS).index(client)]["connected"] is True


def test_the_configuration_is_named_by_its_whole_path(il: Interlock, home: Path) -> None:
    configure("posture: open\n")

    il("client", "connect", "zed", "--yes", "--config", "interlock.yaml", "--data-dir", "d")

    entry = json.loads(CLIENTS["zed"].user_file(surroundings()).read_text())["context_servers"]["interlock"]
    here = os.getcwd()
    assert entry["args"] == ["stdio", "--config", f"{here}/interlock.yaml", "--data-dir", f"{here}/d"]
    assert Path(entry["command"]).is_absolute()


def test_settings_of_the_folder_one_happens_to_be_in_are_not_what_a_client_is_told_to_use(il: Interlock) -> None:
    configure("posture: open\n")
    il("client", "connect", "zed", "--yes")
    entry = json.loads(CLIENTS["zed"].user_file(surroundings()).read_text())["context_servers"]["interlock"]

    named = Path(entry["args"][2])
    assert entry["args"][:2] == ["stdio", "--config"]
    assert named.is_absolute()
    assert named != Path.cwd() / "interlock.yaml"
    assert named.read_text().startswith("# Settings of Interlock")


def test_a_file_that_connecting_made_is_removed_by_undoing(il: Interlock) -> None:
    file = CLIENTS["cursor"].user_file(surroundings())

    assert il("client", "connect", "cursor", "--yes").exit == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert il("client", "undo").out == f"Cursor: removed {file}\n"
    assert not file.exists()


def test_nothing_is_written_without_a_yes(il: Interlock) -> None:
    file = place("cursor", surroundings())

    dry, silent = il("client", "connect", "cursor", "--dry-run"), il("client", "connect", "cursor")

    assert (dry.exit, silent.exit) == (0, 2)
    assert "--yes" in silent.err
    assert "+++" in dry.out
    assert file.read_bytes() == golden("cursor")
    assert list(file.parent.iterdir()) == [file]


def answered(answer: str, meanwhile: Callable[[], object]) -> int:
    """Connect Cursor at a terminal, let something happen while it asks, and answer; the exit code."""
    person, terminal = os.openpty()
    argv = [*COMMAND, "client", "connect", "cursor"]
    with subprocess.Popen(argv, stdin=terminal, stderr=terminal, stdout=subprocess.PIPE, env=environment()) as process:
        os.close(terminal)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(person, 4096)
        meanwhile()
        os.write(person, f"{answer}\n".encode())
        code = process.wait(timeout=60)
    os.close(person)
    return code


@pytest.mark.parametrize(("answer", "writes"), [("y", True), ("", False)])
def test_on_a_terminal_it_is_asked_for(answer: str, writes: bool) -> None:
    file = place("cursor", surroundings())

    assert answered(answer, lambda: None) == 0
    assert (file.read_bytes() != golden("cursor")) is writes


def test_a_file_that_changed_between_the_preview_and_the_answer_is_left_alone(il: Interlock) -> None:
    file = place("cursor", surroundings())

    assert answered("y", lambda: file.write_text("{}")) == 10
    assert file.read_text() == "{}"
    assert list(file.parent.iterdir()) == [file]
    assert "changed nothing" in il("client", "undo").err


def test_a_broken_file_is_told_by_its_place_and_left_alone(il: Interlock, home: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text('{\n  "mcpServers": {,}\n}')

    done = il("client", "connect", "cursor", "--yes")

    assert done.exit == 2
    assert f"{file}:2:18: a name in double quotes is expected." in done.err
    assert list(file.parent.iterdir()) == [file]


def test_a_change_made_since_is_not_lost(il: Interlock) -> None:
    file = place("cursor", surroundings())
    il("client", "connect", "cursor", "--yes")
    file.write_bytes(file.read_bytes() + b"// mine\n")
    newer = file.read_bytes()

    refused = il("client", "undo", "cursor")
    assert refused.exit == 2
    assert "was changed since" in refused.err
    assert file.read_bytes() == newer
    forced = il("client", "undo", "cursor", "--force")
    assert forced.exit == 0
    assert file.read_bytes() == golden("cursor")
    assert newer in [each.read_bytes() for each in file.parent.iterdir()]


def test_what_can_be_undone_is_undone_although_another_file_was_changed(il: Interlock) -> None:
    cursor, zed = place("cursor", surroundings()), place("zed", surroundings())
    il("client", "connect", "cursor", "zed", "--yes")
    cursor.write_text("{}")

    done = il("client", "undo")

    assert done.exit == 2
    assert zed.read_bytes() == golden("zed")
    assert cursor.read_text() == "{}"


def test_the_newest_change_is_undone_first(il: Interlock) -> None:
    file = place("cursor", surroundings())
    il("client", "connect", "cursor", "--yes")
    first = file.read_bytes()
    il("client", "connect", "cursor", "--http", "--yes")

    il("client", "undo")
    assert file.read_bytes() == first
    il("client", "undo")
    assert file.read_bytes() == golden("cursor")
    done = il("client", "undo")
    assert (done.exit, "changed nothing" in done.err) == (2, True)


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_servers_that_were_added_beside_the_file_count_as_taken_over(
    il: Interlock, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    if store == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        monkeypatch.setenv("INTERLOCK_STORE", server.address(asyncio.run(server.new_database())))
    place("zed", surroundings())
    assert il("server", "add", "files", "--command", "/opt/tools/mcp-files --root '/srv/ünïcode docs'").exit == 4

    done = il("client", "diff", "zed")

    assert '-    "files": {' in done.lines


def test_one_that_takes_no_addresses_is_told(il: Interlock) -> None:
    done = il("client", "connect", "claude-desktop", "--http", "--yes")

    assert done.exit == 2
    assert "it only starts servers" in done.err


def test_a_client_that_nobody_knows_is_told_with_the_nearest(il: Interlock) -> None:
    assert "Did you mean 'cursor'?" in il("client", "connect", "cursr").err
    assert il("client", "undo", "nobody").exit == 2


# list -----------------------------------------------------------------------------------------------------------


def test_the_list_shows_every_client_and_how_it_is_doing(il: Interlock) -> None:
    place("cursor", surroundings())
    broken = place("zed", surroundings())
    broken.write_text("{")
    il("client", "connect", "gemini", "--yes")

    done = il("client", "list", "--json")
    found = {each["client"]: (each["found"], each["servers"], each["connected"]) for each in done.json["items"]}

    assert list(found) == list(CLIENTS)
    assert found["cursor"] == (True, 3, False)
    assert found["gemini"] == (True, 0, True)
    assert found["vscode"] == (False, 0, False)
    shown = il("client", "list")
    assert [line.split()[:3] for line in shown.lines if line.startswith(("cursor", "gemini", "zed"))] == [
        ["cursor", "found", "3"],
        ["gemini", "connected", "-"],
        ["zed", "broken", "-"],
    ]
    assert f"{broken}:1:2" in shown.err
