"""`interlock init`, in this process: what is asked, refused and left alone."""

import json
from pathlib import Path

import pytest

from interlock.cli.clients.file import surroundings
from interlock.cli.clients.table import CLIENTS
from tests.cli.golden import SECRET, golden, place
from tests.cli.running import Interlock, configure


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    return tmp_path / "home"


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    return tmp_path / "user-config" / "interlock" / "interlock.yaml"


def written(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_without_any_client_there_is_nothing_to_do(il: Interlock, settings: Path) -> None:
    done = il("init")

    assert (done.exit, done.err) == (0, "")
    assert done.lines == ["No file of a known client was found.", "Nothing to do."]
    assert not settings.exists()


@pytest.mark.parametrize("words", [(), ("--no-input",)])
def test_when_nobody_can_be_asked_the_plan_is_shown_and_nothing_changed(
    il: Interlock, settings: Path, words: tuple[str, ...]
) -> None:
    file = place("cursor", surroundings())

    done = il("init", *words)

    assert done.exit == 2
    assert "Add --yes" in done.err
    assert "+ files: 'files' in Cursor" in done.lines
    assert "+++" in done.out
    assert (file.read_bytes(), settings.exists()) == (golden("cursor"), False)


def test_commands_of_a_project_are_shown_and_not_started_by_a_yes_to_everything(il: Interlock, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    entry = {"command": "/bin/sh", "args": ["-c", f"touch {seen}"]}
    Path(".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": entry}}))
    done = il("init", "--project", "--yes")

    assert f"theirs: /bin/sh -c 'touch {seen}'" in done.lines
    assert not seen.exists()


def test_files_of_a_project_are_read_only_when_asked_for(il: Interlock) -> None:
    written(Path(".mcp.json"), '{"mcpServers": {"theirs": {"command": "rm", "args": ["-rf", "/nothing"]}}}')

    assert "theirs" not in il("init", "--dry-run").out
    assert "+ theirs: 'theirs' in Claude Code" in il("init", "--dry-run", "--project").lines


def test_the_settings_of_the_working_directory_are_left_alone(il: Interlock, settings: Path, home: Path) -> None:
    configure("posture: open\n")
    written(home / ".cursor" / "mcp.json", '{"mcpServers": {"a": {"command": "/nowhere/a"}}}')

    done = il("init", "--yes")

    assert done.exit == 0
    assert "is left alone" in done.err
    assert Path("interlock.yaml").read_text() == "posture: open\n"
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["interlock"]
    assert entry["args"] == ["stdio", "--config", str(settings)]


def test_a_file_that_is_named_is_extended_and_a_copy_kept(il: Interlock, home: Path) -> None:
    configure("# mine\nposture: open\n")
    written(home / ".cursor" / "mcp.json", '{"mcpServers": {"a": {"command": "/nowhere/a"}}}')

    done = il("init", "--yes", "--config", "interlock.yaml")

    assert done.exit == 0
    assert Path("interlock.yaml").read_text().startswith("# mine\nposture: open\nservers:\n  a:\n")
    (copy,) = Path().glob("interlock.yaml.interlock-*.bak")
    assert copy.read_text() == "# mine\nposture: open\n"
    assert f"interlock doctor --config {Path.cwd()}/interlock.yaml" in done.out


def test_a_broken_file_is_told_and_the_others_are_taken_over(il: Interlock, home: Path, settings: Path) -> None:
    written(home / ".cursor" / "mcp.json", '{"mcpServers": {"a": {"command": "/nowhere/a"}}}')
    broken = written(CLIENTS["zed"].user_file(surroundings()), "{ // open")

    done = il("init", "--yes")

    assert done.exit == 20
    assert f"Left out: {broken}:1:10" in done.err
    assert broken.read_text() == "{ // open"
    assert "  a:" in settings.read_text()


def test_a_server_that_does_not_start_is_imported_and_told(il: Interlock, home: Path) -> None:
    written(home / ".cursor" / "mcp.json", '{"mcpServers": {"a": {"command": "/nowhere/a"}}}')

    done = il("init", "--yes")

    assert [line for line in done.lines if line.startswith("a: ") and line.endswith("(imported all the same)")]


def test_variables_are_named_without_their_values(il: Interlock, settings: Path) -> None:
    place("claude-desktop", surroundings())

    done = il("init", "--yes", "--secrets", "env")

    assert "  export GITHUB_PERSONAL_ACCESS_TOKEN='…'" in done.err.splitlines()
    assert "${env:GITHUB_PERSONAL_ACCESS_TOKEN}" in settings.read_text()
    assert SECRET not in done.out + done.err + settings.read_text()


def test_a_folder_that_no_reference_can_name_is_refused(il: Interlock) -> None:
    place("claude-desktop", surroundings())

    done = il("init", "--yes", "--data-dir", "a}b")

    assert done.exit == 2
    assert "--secrets env" in done.err
    assert CLIENTS["claude-desktop"].user_file(surroundings()).read_bytes() == golden("claude-desktop")


def test_an_entry_of_others_under_our_name_is_told_and_left(il: Interlock, home: Path) -> None:
    file = written(home / ".cursor" / "mcp.json", '{"mcpServers": {"interlock": {"command": "/nowhere/other"}}}')

    done = il("init", "--yes")

    assert done.exit == 20
    assert "that is not this gateway" in done.err
    assert "other" in file.read_text()


def test_two_accounts_on_one_command_become_two_servers(il: Interlock, home: Path, settings: Path) -> None:
    one, two = "ghp_" + "0123456789" * 4, "ghp_" + "9876543210" * 4
    for client, token in ((".cursor/mcp.json", one), (".codeium/windsurf/mcp_config.json", two)):
        entry = {"command": "/nowhere/a", "env": {"TOKEN": token}}
        written(home / client, json.dumps({"mcpServers": {"a": entry}}))

    done = il("init", "--yes")

    assert "+ a-2: 'a' in Windsurf" in done.lines
    assert "a.TOKEN}" in settings.read_text()
    assert "a-2.TOKEN}" in settings.read_text()
    assert il("init", "--yes").lines[-1] == "Nothing to do."
