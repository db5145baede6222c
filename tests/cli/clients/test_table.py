"""The table of clients: every row says where, under which key and in which words."""

from pathlib import Path

import pytest

from interlock.cli.clients.file import read
from interlock.cli.clients.table import CLIENTS, Surroundings, System, files_of
from tests.cli.golden import around, golden, place

SYSTEMS: tuple[System, ...] = ("linux", "darwin", "win32")


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_has_a_file_of_the_user_on_every_system(client: str, system: System) -> None:
    home = Path("/h")
    file = CLIENTS[client].user_file(Surroundings(home, Path("/w"), {}, system))

    assert file.is_relative_to(home)
    assert file.suffix == (".toml" if CLIENTS[client].toml else ".json")


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_has_an_example_whose_servers_are_found_under_its_keys(client: str, tmp_path: Path) -> None:
    file = read(CLIENTS[client], place(client, around(tmp_path)))

    assert file.content == golden(client)
    assert file.servers()


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_is_named_for_people_and_for_the_command_line(client: str) -> None:
    assert CLIENTS[client].name == client
    assert CLIENTS[client].title[0].isupper()


@pytest.mark.parametrize(
    ("client", "system", "environ", "file"),
    [
        ("claude-desktop", "linux", {}, "/h/.config/Claude/claude_desktop_config.json"),
        ("claude-desktop", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/Claude/claude_desktop_config.json"),
        ("claude-desktop", "darwin", {}, "/h/Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", {"APPDATA": "/a"}, "/a/Claude/claude_desktop_config.json"),
        ("vscode", "darwin", {}, "/h/Library/Application Support/Code/User/mcp.json"),
        ("zed", "darwin", {}, "/h/.config/zed/settings.json"),
        ("zed", "win32", {}, "/h/AppData/Roaming/Zed/settings.json"),
        ("codex", "linux", {"CODEX_HOME": "/c"}, "/c/config.toml"),
        ("devin", "win32", {"APPDATA": "/a"}, "/a/devin/mcp_config.json"),
        ("windsurf", "linux", {}, "/h/.codeium/windsurf/mcp_config.json"),
        ("claude-code", "linux", {"XDG_CONFIG_HOME": "/x"}, "/h/.claude.json"),
    ],
)
def test_the_file_is_where_the_client_looks_for_it(
    client: str, system: System, environ: dict[str, str], file: str
) -> None:
    assert CLIENTS[client].user_file(Surroundings(Path("/h"), Path("/w"), environ, system)) == Path(file)


def test_an_empty_variable_moves_nothing() -> None:
    surroundings = Surroundings(Path("/h"), Path("/w"), {"CODEX_HOME": ""}, "linux")

    assert CLIENTS["codex"].user_file(surroundings) == Path("/h/.codex/config.toml")


@pytest.mark.parametrize("client", CLIENTS)
def test_the_files_of_a_client_are_looked_for_in_the_project_first(tmp_path: Path, client: str) -> None:
    surroundings = around(tmp_path)
    known = CLIENTS[client]
    user = place(client, surroundings)
    project = known.project_file(surroundings)
    if project is not None:
        project.parent.mkdir(parents=True, exist_ok=True)
        project.write_text("{}")

    assert files_of(known, surroundings) == [*([project] if project else []), user]
    assert files_of(known, around(tmp_path / "nowhere")) == []
