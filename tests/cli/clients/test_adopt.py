"""From an entry of a client to settings of ours."""

from typing import Any

import pytest

from interlock.cli.clients.adopt import adopt, id_of, is_ours
from interlock.config.plain_secrets import plain_secrets
from interlock.config.tree import Server

SECRET = "ghp_" + "0123456789" * 4


@pytest.mark.parametrize(
    ("entry", "definition"),
    [
        (
            {"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}},
            {"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}},
        ),
        ({"type": "http", "url": "https://h/mcp"}, {"url": "https://h/mcp"}),
        ({"httpUrl": "https://h/mcp", "url": "https://h/sse"}, {"url": "https://h/mcp"}),
        ({"serverUrl": "https://h/mcp"}, {"url": "https://h/mcp"}),
        ({"command": "p", "disabled": True}, {"command": "p", "enabled": False}),
        ({"command": "p", "enabled": False}, {"command": "p", "enabled": False}),
        ({"command": "p", "timeout": 30000}, {"command": "p", "call_timeout": "30000ms"}),
        ({"command": "p", "tool_timeout_sec": 90}, {"command": "p", "call_timeout": "90s"}),
        (
            {"url": "https://h/", "bearer_token_env_var": "GH", "env_http_headers": {"X-A": "B"}},
            {"url": "https://h/", "headers": {"X-A": "${env:B}", "Authorization": "Bearer ${env:GH}"}},
        ),
        ({"command": "p", "trust": True}, {"command": "p"}),
    ],
)
def test_the_words_of_each_client_mean_the_same_to_us(entry: dict[str, Any], definition: dict[str, Any]) -> None:
    assert adopt("a", entry).definition == definition
    Server.model_validate(definition)


@pytest.mark.parametrize("written", ["${GH}", "${env:GH}", "$GH", "${GH:-none}", "${input:gh}"])
def test_every_way_to_name_a_variable_becomes_a_reference(written: str) -> None:
    adopted = adopt("a", {"url": "https://h/", "headers": {"Authorization": f"Bearer {written}"}})

    assert adopted.definition["headers"] == {"Authorization": "Bearer ${env:GH}"}
    assert adopted.variables == ["GH"]
    assert bool(adopted.remarks) == (written in ("${GH:-none}", "${input:gh}"))


@pytest.mark.parametrize(
    ("entry", "definition", "variable"),
    [
        ({"command": "p", "env": {"TOKEN": SECRET}}, {"command": "p", "env": {"TOKEN": "${env:TOKEN}"}}, "TOKEN"),
        (
            {"url": "https://h/", "headers": {"Authorization": f"Bearer {SECRET}"}},
            {"url": "https://h/", "headers": {"Authorization": "Bearer ${env:MY_SERVER_AUTHORIZATION}"}},
            "MY_SERVER_AUTHORIZATION",
        ),
    ],
)
def test_a_secret_does_not_come_along_and_its_variable_is_named(
    entry: dict[str, Any], definition: dict[str, Any], variable: str
) -> None:
    adopted = adopt("My Server", entry)

    assert adopted.definition == definition
    assert adopted.variables == [variable]
    assert [(each.variable, each.value) for each in adopted.secrets] == [(variable, SECRET)]
    assert SECRET not in str(adopted)
    assert plain_secrets(adopted.definition) == []


@pytest.mark.parametrize(
    ("entry", "remark"),
    [
        ({"command": "p", "args": ["${workspaceFolder}"]}, "args names a variable"),
        ({"type": "sse", "url": "https://h/sse"}, "streamable HTTP"),
        ({"command": "p", "includeTools": ["a"], "trust": True}, "not taken over: includeTools, trust"),
    ],
)
def test_what_cannot_be_said_in_our_settings_is_named(entry: dict[str, Any], remark: str) -> None:
    assert any(remark in each for each in adopt("a", entry).remarks)


@pytest.mark.parametrize(
    ("name", "server"), [("GitHub MCP", "github-mcp"), ("a_b.c", "a-b-c"), ("--x--", "x"), ("日本", "server")]
)
def test_a_name_becomes_an_id(name: str, server: str) -> None:
    assert id_of(name) == server


@pytest.mark.parametrize(
    ("entry", "ours"),
    [
        ({"command": "/usr/bin/interlock", "args": ["stdio"]}, True),
        ({"command": "uvx", "args": ["interlock", "stdio"]}, True),
        ({"command": "/opt/venv/bin/python3.11", "args": ["-m", "interlock", "stdio"]}, True),
        ({"command": "npx", "args": ["x"]}, False),
        ({"command": "/opt/other/il", "args": ["--steal"]}, False),
        ({"command": "/bin/sh", "args": ["-c", "other", "interlock", "stdio"]}, False),
        ({"url": "https://h/"}, False),
    ],
)
def test_interlock_itself_is_recognised(entry: dict[str, Any], ours: bool) -> None:
    assert is_ours(entry) is ours


@pytest.mark.parametrize("entry", [{}, {"command": 5}, {"env": 5, "args": "x"}, {"headers": ["a"], "url": "u"}])
def test_nonsense_in_a_file_is_for_the_gateway_to_refuse(entry: dict[str, Any]) -> None:
    assert adopt("a", entry).id == "a"
