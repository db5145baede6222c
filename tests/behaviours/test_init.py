"""The first run as a whole, in processes of its own: every client of the table, a person at a terminal, and back."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.clients.table import CLIENTS, Surroundings
from interlock.config.load import load
from tests.cli.golden import SECRETS, golden, place
from tests.cli.running import COMMAND, Outcome, environment
from tests.upstream.running import stdio_argv


def surroundings(folder: Path) -> Surroundings:
    return Surroundings(folder / "home", folder / "work", variables(folder), "linux")


def variables(folder: Path) -> dict[str, str]:
    home = folder / "home"
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
    }


def own_environment(folder: Path) -> dict[str, str]:
    ours = {name: value for name, value in environment().items() if not name.startswith(("INTERLOCK_", "CODEX_"))}
    return {**ours, **variables(folder)}


def il(folder: Path, *words: str) -> Outcome:
    done = subprocess.run(
        [*COMMAND, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env=own_environment(folder),
        cwd=folder / "work",
        check=False,
        timeout=120,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file()}


# Everybody's clients --------------------------------------------------------------------------------------------


@dataclass
class Story:
    """What was said, and what the home looked like, at each step."""

    settings: Path
    said: dict[str, Outcome] = field(default_factory=dict[str, Outcome])
    home: dict[str, Mapping[str, bytes]] = field(default_factory=dict[str, Mapping[str, bytes]])
    clients: dict[str, dict[str, bytes]] = field(default_factory=dict[str, dict[str, bytes]])


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("first-run")
    (folder / "work").mkdir()
    files = {client: place(client, surroundings(folder)) for client in CLIENTS}
    story = Story(folder / "home" / ".config" / "interlock" / "interlock.yaml")
    steps = {
        "dry": ("init", "--dry-run"),
        "asked": ("init",),
        "first": ("init", "--yes"),
        "second": ("init", "--yes"),
        "listed": ("client", "list", "--json"),
        "undone": ("client", "undo"),
    }
    for step, words in steps.items():
        story.said[step] = il(folder, *words)
        story.home[step] = files_below(folder / "home")
        story.clients[step] = {client: file.read_bytes() for client, file in files.items()}
    return story


def test_a_dry_run_and_a_run_that_nobody_answers_change_nothing(story: Story) -> None:
    assert (story.said["dry"].exit, story.said["asked"].exit) == (0, 2)
    assert story.said["dry"].out == story.said["asked"].out
    assert story.clients["dry"] == story.clients["asked"] == {client: golden(client) for client in CLIENTS}
    assert len(story.home["asked"]) == len(CLIENTS)


def test_the_servers_of_all_clients_are_taken_over_once(story: Story) -> None:
    assert story.said["first"].exit == 0
    servers = load(str(story.settings), {}).settings.servers

    assert set(servers) == set(
        "files github github-2 github-3 tracker tracker-2 tracker-3 db remote shell off vault".split()
    )
    assert servers["github"].command == "/opt/tools/mcp-github"
    assert [name for name, each in servers.items() if not each.enabled] == ["tracker-2", "off"]


def test_every_client_talks_to_interlock_then(story: Story) -> None:
    listed = story.said["listed"].json["items"]

    assert [each["client"] for each in listed if each["connected"]] == list(CLIENTS)
    assert sum(each["servers"] for each in listed) == 3  # a secret among arguments, a folder of the client's, SSE


def test_a_second_run_says_that_there_is_nothing_to_do_and_changes_no_byte(story: Story) -> None:
    assert story.said["second"].exit == 0
    assert story.said["second"].lines[-1] == "Nothing to do."
    assert story.home["second"] == story.home["first"]


@pytest.mark.parametrize("client", CLIENTS)
def test_undoing_gives_every_client_its_bytes_back(story: Story, client: str) -> None:
    assert story.said["undone"].exit == 0
    assert story.clients["first"][client] != golden(client)
    assert story.clients["undone"][client] == golden(client)


@pytest.mark.parametrize(
    ("client", "comments"),
    [
        ("cursor", ["// Cursor: my servers", "do not share */", "// shared"]),
        ("vscode", ["// asked for once", "// stays here"]),
        ("codex", ["# Codex, by hand", "# the good one", "# what follows is about the look"]),
        ("zed", ["// For information on how", "// favourite", "/* servers */"]),
    ],
)
def test_comments_are_kept(story: Story, client: str, comments: list[str]) -> None:
    text = story.clients["first"][client].decode()

    assert [each for each in comments if each not in text] == []


def test_line_ends_and_a_mark_at_the_beginning_are_kept(story: Story) -> None:
    vscode = story.clients["first"]["vscode"]

    assert vscode.count(b"\n") == vscode.count(b"\r\n") > 0
    assert story.clients["first"]["windsurf"].startswith(b"\xef\xbb\xbf")


def test_no_secret_is_shown_or_stands_in_the_settings(story: Story) -> None:
    shown = "".join(each.out + each.err for each in story.said.values())
    settings = story.home["first"][".config/interlock/interlock.yaml"].decode()

    assert "+++" in shown
    assert [each for each in SECRETS if each in shown + settings] == []


def test_secrets_are_kept_for_their_owner_only(story: Story) -> None:
    kept = story.settings.parents[2] / ".local" / "share" / "interlock" / "secrets"

    assert kept.stat().st_mode & 0o777 == 0o700
    assert {each.stat().st_mode & 0o777 for each in kept.iterdir()} == {0o600}
    assert {each.read_text() for each in kept.iterdir()} == set(SECRETS)


# A person at a terminal -----------------------------------------------------------------------------------------


def answered(folder: Path, answers: Mapping[str, str]) -> str:
    """Run init at a terminal and answer each question; what was shown there."""
    person, terminal = os.openpty()
    with subprocess.Popen(
        [*COMMAND, "init"],
        stdin=terminal,
        stderr=terminal,
        stdout=subprocess.PIPE,
        env=own_environment(folder),
        cwd=folder / "work",
    ) as process:
        os.close(terminal)
        shown = ""
        for question, answer in answers.items():
            while question not in shown:
                shown += os.read(person, 4096).decode("utf-8", "replace")
            os.write(person, f"{answer}\n".encode())
        assert process.stdout is not None
        shown += process.stdout.read().decode()
        assert process.wait(timeout=60) == 0
    os.close(person)
    return shown


@pytest.fixture
def cursor(tmp_path: Path) -> Path:
    """The file of a client with one real server that holds a secret."""
    command, *arguments = stdio_argv(tmp_path / "up.log")
    file = tmp_path / "home" / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    (tmp_path / "work").mkdir()
    entry = {"command": command, "args": arguments, "env": {"API_TOKEN": SECRETS[0]}}
    file.write_text(json.dumps({"mcpServers": {"up": entry}}, indent=2))
    return file


SECRET_QUESTION, TRUST, WRITE, POINT = "[f/e/N]", "say of their tools? [y/N]", "interlock.yaml? [y/N]", "Point Cursor"


def test_a_person_is_asked_and_the_client_can_start_what_was_written(tmp_path: Path, cursor: Path) -> None:
    shown = answered(tmp_path, {SECRET_QUESTION: "f", TRUST: "y", WRITE: "y", POINT: "y"})

    settings = load(str(tmp_path / "home" / ".config" / "interlock" / "interlock.yaml"), {}).settings
    assert settings.servers["up"].trusted is True
    assert "Next:" in shown
    assert SECRETS[0] not in shown
    servers = json.loads(cursor.read_text())["mcpServers"]
    assert list(servers) == ["interlock"]
    assert "up:delete_note" in tools_of(servers["interlock"], tmp_path)


def tools_of(entry: Mapping[str, Any], folder: Path) -> str:
    """What a client is told when it starts an entry of its file and looks for tools."""
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    search = {"name": "retrieve_tools", "arguments": {"query": "note"}}
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": search},
    ]
    with subprocess.Popen(
        [entry["command"], *entry["args"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        env=own_environment(folder),
        cwd=folder,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(f"{json.dumps(each)}\n" for each in messages))
        process.stdin.flush()
        lines = iter(process.stdout.readline, "")
        answer = next(each for each in lines if json.loads(each).get("id") == 2)
        process.stdin.close()
        assert process.wait(timeout=60) == 0
    return answer


def test_whoever_says_no_keeps_everything_as_it_was(tmp_path: Path, cursor: Path) -> None:
    before = files_below(tmp_path / "home")

    answered(tmp_path, {SECRET_QUESTION: "e", TRUST: "n", WRITE: "n"})

    assert files_below(tmp_path / "home") == before


def test_a_server_whose_secrets_stay_is_not_taken_over(tmp_path: Path, cursor: Path) -> None:
    answered(tmp_path, {SECRET_QUESTION: "n", POINT: "n"})

    assert list(json.loads(cursor.read_text())["mcpServers"]) == ["up"]
    assert not (tmp_path / "home" / ".config" / "interlock").exists()
    assert not (tmp_path / "up.log").exists()
