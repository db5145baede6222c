"""Reading the files of clients, and the texts that they would have."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.clients.file import MAX_FILE, read, servers_in, surroundings
from interlock.cli.clients.table import CLIENTS
from interlock.errors import InterlockError
from tests.cli.golden import around, place


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


# Files of one client --------------------------------------------------------------------------------------------


def test_the_servers_of_every_folder_are_found_beside_those_of_the_user(tmp_path: Path) -> None:
    found = read(CLIENTS["claude-code"], place("claude-code", around(tmp_path))).servers()

    assert [(each.keys, each.name) for each in found] == [
        (("mcpServers",), "github"),
        (("mcpServers",), "tracker"),
        (("projects", "/home/someone/site", "mcpServers"), "db"),
    ]


def test_servers_are_taken_out_wherever_they_stand_and_one_is_put_in(tmp_path: Path) -> None:
    file = read(CLIENTS["claude-code"], place("claude-code", around(tmp_path)))

    text = file.with_server(file.without_servers(file.text, file.servers()), "new", {"command": "x"})

    after = json.loads(text)
    assert after["mcpServers"] == {"new": {"command": "x"}}
    assert after["projects"]["/home/someone/site"]["mcpServers"] == {}
    assert after["projects"]["/home/someone/site"]["history"] == file.value["projects"]["/home/someone/site"]["history"]


def test_a_file_that_is_not_there_has_no_servers_and_gets_one(tmp_path: Path) -> None:
    file = read(CLIENTS["cursor"], tmp_path / "mcp.json")

    assert (file.content, file.servers()) == (None, [])
    assert json.loads(file.with_server("", "a", {"url": "u"})) == {"mcpServers": {"a": {"url": "u"}}}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{\n  "a": secret-word}', "mcp.json:2:8: a value is expected"),
        (b'{"a": "\xff"}', "mcp.json:1:8: this is no UTF-8 text"),
        (b"[]", "mcp.json:1:1: it holds no settings"),
    ],
)
def test_a_broken_file_is_told_by_its_place_without_its_words(tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(content)

    with pytest.raises(InterlockError, match=problem) as refused:
        read(CLIENTS["cursor"], file)

    assert "secret-word" not in refused.value.reason.text


def test_a_file_in_which_no_server_can_be_put_is_told(tmp_path: Path) -> None:
    file = read(CLIENTS["cursor"], written(tmp_path, "mcp.json", '{"mcpServers": 5}'))

    with pytest.raises(InterlockError, match=r"mcp.json:1:16: an object is expected"):
        file.with_server(file.text, "a", {})


def test_what_is_no_plain_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "mcp.json")

    with pytest.raises(InterlockError, match="no plain file"):
        read(CLIENTS["cursor"], tmp_path / "mcp.json")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "mcp.json").open("wb") as file:
        file.truncate(MAX_FILE + 1)

    with pytest.raises(InterlockError, match="too large"):
        read(CLIENTS["cursor"], tmp_path / "mcp.json")


def test_a_path_through_a_file_cannot_be_read(tmp_path: Path) -> None:
    written(tmp_path, "file", "")

    with pytest.raises(InterlockError, match="cannot be read"):
        read(CLIENTS["cursor"], tmp_path / "file" / "mcp.json")


def test_the_surroundings_are_those_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "h"))

    assert (surroundings().home, surroundings().here) == (tmp_path / "h", Path.cwd())


# Files of any client --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"mcpServers": {"a": {"command": "x"}}}', {"a"}),
        ('{"servers": {"a": {"type": "stdio"}}, "inputs": []}', {"a"}),
        ('{"context_servers": {"a": {}}}', {"a"}),
        ('{"mcp": {"servers": {"a": {}}}}', {"a"}),
        ('\ufeff{"mcpServers": {"a": 5}}', {"a"}),
        ('{// one\n "mcpServers": {"a": {"url": "http://h//x"}, /* two\n */ }, }', {"a"}),
    ],
)
def test_the_servers_of_a_file_are_found_under_any_of_the_keys(tmp_path: Path, text: str, names: set[str]) -> None:
    assert set(servers_in(written(tmp_path, "x.json", text), tmp_path)) == names


def test_toml_is_read_too(tmp_path: Path) -> None:
    file = written(tmp_path, "config.toml", '[mcp_servers.a]\ncommand = "x"\n')

    assert servers_in(file, tmp_path) == {"a": {"command": "x"}}


def test_of_all_folders_only_the_servers_of_this_one_are_imported(tmp_path: Path) -> None:
    projects: dict[str, Any] = {str(tmp_path): {"mcpServers": {"b": {}}}, "/other": {"mcpServers": {"c": {}}}}
    both: dict[str, Any] = {"mcpServers": {"a": {}}, "projects": projects}

    assert set(servers_in(written(tmp_path, ".claude.json", json.dumps(both)), tmp_path)) == {"a", "b"}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("x.json", "{\n'a': secret-word}", "x.json:2:1"),
        ("x.toml", "secret-word", "no TOML"),
        ("x.json", "[]", "holds no settings"),
        ("x.json", "{}", "names no server"),
        ("x.json", "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_without_its_words(
    tmp_path: Path, name: str, text: str, problem: str
) -> None:
    with pytest.raises(InterlockError, match=problem) as refused:
        servers_in(written(tmp_path, name, text), tmp_path)

    assert "secret-word" not in refused.value.reason.text


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InterlockError, match="cannot be read"):
        servers_in(tmp_path / "none.json", tmp_path)
