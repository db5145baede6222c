"""Where clients keep their servers, and reading what they wrote."""

import json
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.clients import CLIENTS, files_of, servers_in, without_comments
from interlock.errors import InterlockError


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


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


def test_the_servers_of_this_folder_are_found_beside_those_of_the_user(tmp_path: Path) -> None:
    projects: dict[str, Any] = {str(tmp_path): {"mcpServers": {"b": {}}}, "/other": {"mcpServers": {"c": {}}}}
    both: dict[str, Any] = {"mcpServers": {"a": {}}, "projects": projects}

    assert set(servers_in(written(tmp_path, ".claude.json", json.dumps(both)), tmp_path)) == {"a", "b"}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("x.json", "{\n'a': secret-word}", "is no JSON at line 2"),
        ("x.toml", "secret-word", "is no TOML"),
        ("x.json", "[]", "holds no settings"),
        ("x.json", "{}", "names no server"),
        ("x.json", "[" * 100_000, "is no JSON"),
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


@pytest.mark.parametrize("client", CLIENTS)
def test_the_files_of_a_client_are_looked_for_in_the_project_first(tmp_path: Path, client: str) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    known = CLIENTS[client]
    user = [written(home, name, "{}") for name in known.user]
    project = [written(here, name, "{}") for name in known.project]

    assert files_of(known, home, here) == [*project, *user]
    assert files_of(known, tmp_path / "nobody", tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "// no, /* no */", }', {"a": "// no, /* no */"}),
        ("[1, 2, /* x */ ]", [1, 2]),
        ('{"a": "\\",}"}', {"a": '",}'}),
        ('{"a": ",]"}', {"a": ",]"}),
    ],
)
def test_what_stands_in_a_text_is_no_comment(text: str, value: object) -> None:
    assert json.loads(without_comments(text)) == value
