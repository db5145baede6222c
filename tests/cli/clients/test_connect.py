"""What has to change for a client to talk to Interlock."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.clients.connect import Edit, Ours, Wish, edits, entry, our_command, our_url
from interlock.cli.clients.table import CLIENTS
from interlock.config.tree import Listen, Server
from interlock.errors import InterlockError
from tests.cli.golden import around, golden, place

OURS = Ours(("/bin/interlock", "stdio"), "http://127.0.0.1:7373/mcp", {})
FILES = Server(command="/opt/tools/mcp-files", args=["--root", "/srv/ünïcode docs"])
STDIO = {"command": "/bin/interlock", "args": ["stdio"]}
URL = OURS.url


@pytest.mark.parametrize(
    ("client", "stdio", "http"),
    [
        ("claude-desktop", STDIO, None),
        (
            "claude-code",
            {"type": "stdio", **STDIO, "timeout": 600_000},
            {"type": "http", "url": URL, "timeout": 600_000},
        ),
        ("cursor", STDIO, {"url": URL}),
        ("vscode", {"type": "stdio", **STDIO}, {"type": "http", "url": URL}),
        ("codex", {**STDIO, "tool_timeout_sec": 600}, {"url": URL, "tool_timeout_sec": 600}),
        ("gemini", {**STDIO, "timeout": 600_000}, {"httpUrl": URL, "timeout": 600_000}),
        ("zed", STDIO, {"url": URL}),
        ("windsurf", STDIO, {"serverUrl": URL}),
        ("devin", STDIO, {"transport": "http", "url": URL}),
    ],
)
def test_each_client_is_told_of_interlock_in_its_own_words(
    client: str, stdio: dict[str, Any], http: dict[str, Any] | None
) -> None:
    assert entry(CLIENTS[client], OURS, http=False) == stdio
    if http is None:
        with pytest.raises(InterlockError, match="takes no addresses"):
            entry(CLIENTS[client], OURS, http=True)
    else:
        assert entry(CLIENTS[client], OURS, http=True) == http


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_connected_and_the_second_time_nothing_is_left_to_do(client: str, tmp_path: Path) -> None:
    surroundings = around(tmp_path)
    file = place(client, surroundings)

    (edit,) = edits(CLIENTS[client], surroundings, OURS, Wish())

    assert (edit.path, edit.seen, edit.removed) == (file, golden(client), ())
    file.write_bytes(edit.after.encode())
    value = tomllib.loads(edit.after) if CLIENTS[client].toml else None
    assert "interlock" in (value["mcp_servers"] if value else edit.after)
    assert edits(CLIENTS[client], surroundings, OURS, Wish()) == []


def connected(client: str, folder: Path, wish: Wish, **servers: Server) -> Edit:
    (edit,) = edits(CLIENTS[client], around(folder), Ours(OURS.command, OURS.url, servers), wish)
    return edit


def test_what_was_taken_over_is_taken_out_and_the_rest_stays(tmp_path: Path) -> None:
    place("cursor", around(tmp_path))

    edit = connected("cursor", tmp_path, Wish(), files=FILES)

    assert edit.removed == ("files",)
    assert "mcp-files" not in edit.after
    for kept in ("do not share", "// shared", "// rotates monthly", "args-secret", "// Cursor: my servers"):
        assert kept in edit.after


def test_whoever_wants_to_keeps_them(tmp_path: Path) -> None:
    place("cursor", around(tmp_path))

    edit = connected("cursor", tmp_path, Wish(keep=True), files=FILES)

    assert edit.removed == ()
    assert "mcp-files" in edit.after


def test_a_client_without_a_file_gets_one(tmp_path: Path) -> None:
    edit = connected("zed", tmp_path, Wish())

    assert edit.seen is None
    assert json.loads(edit.after) == {"context_servers": {"interlock": STDIO}}
    assert "+++" in edit.difference


def test_the_file_of_a_project_is_changed_only_when_asked_for(tmp_path: Path) -> None:
    surroundings = around(tmp_path)
    project = surroundings.here / ".cursor" / "mcp.json"
    project.parent.mkdir(parents=True)
    project.write_text(json.dumps({"mcpServers": {"f": {"command": FILES.command, "args": FILES.args}}}))
    ours = Ours(OURS.command, OURS.url, {"files": FILES})

    plain = edits(CLIENTS["cursor"], surroundings, ours, Wish())
    both = edits(CLIENTS["cursor"], surroundings, ours, Wish(project=True))

    assert [each.path for each in plain] == [surroundings.home / ".cursor" / "mcp.json"]
    assert [each.path for each in both] == [*(each.path for each in plain), project]
    assert json.loads(both[1].after) == {"mcpServers": {}}


def test_what_somebody_added_to_our_entry_stays(tmp_path: Path) -> None:
    surroundings = around(tmp_path)
    file = surroundings.home / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    mine = {"command": "interlock", "args": ["stdio"], "env": {"INTERLOCK_TOKEN": "il_x"}}
    file.write_text(json.dumps({"mcpServers": {"il": mine}}))

    assert json.loads(connected("cursor", tmp_path, Wish()).after) == {
        "mcpServers": {"il": {**STDIO, "env": {"INTERLOCK_TOKEN": "il_x"}}}
    }
    assert edits(CLIENTS["cursor"], surroundings, OURS, Wish(anew=False)) == []


def test_a_server_of_others_under_our_name_is_not_written_over(tmp_path: Path) -> None:
    surroundings = around(tmp_path)
    file = surroundings.home / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"mcpServers": {"interlock": {"command": "other"}}}')

    with pytest.raises(InterlockError, match="has a server 'interlock' that is not this gateway"):
        edits(CLIENTS["cursor"], surroundings, OURS, Wish())


def test_the_command_has_whole_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "il"
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(program)])

    assert our_command(Path("x.yaml"), Path("/d")) == (
        str(program),
        "stdio",
        "--config",
        str(Path.cwd() / "x.yaml"),
        "--data-dir",
        "/d",
    )


def test_without_a_program_of_its_own_the_module_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["__main__.py"])
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))

    assert our_command(None, None) == (sys.executable, "-m", "interlock", "stdio")


@pytest.mark.parametrize(
    ("host", "url"), [("127.0.0.1", "http://127.0.0.1:7373/mcp"), ("::1", "http://[::1]:7373/mcp")]
)
def test_the_address_is_that_of_the_settings(host: str, url: str) -> None:
    assert our_url(Listen(host=host, port=7373)) == url
