"""Secrets that stand in the settings of a server as they are."""

from typing import Any

import pytest

from interlock.config.plain_secrets import plain_secrets


@pytest.mark.parametrize(
    ("definition", "places"),
    [
        ({"env": {"API_TOKEN": "hunter2"}}, ["env.API_TOKEN"]),
        ({"env": {"A": "ghp_0123456789012345678901234567890123456789"}}, ["env.A"]),
        ({"env": {"SOME_KEY": "Zx81hfjQ02mfKq77aUwe93hd"}}, ["env.SOME_KEY"]),
        ({"headers": {"Authorization": "Bearer abc"}}, ["headers.Authorization"]),
        ({"headers": {"X-Api-Key": "abc", "X-Name": "me"}}, ["headers.X-Api-Key"]),
        ({"headers": {"A": "ghp_0123456789012345678901234567890123456789 ${env:X}"}}, ["headers.A"]),
        ({"command": "p", "args": ["--token", "abc", "x"]}, ["args[1]"]),
        ({"command": "p", "args": ["--api-key=abcdef"]}, ["args[0]"]),
        ({"url": "https://me:pass@h/mcp"}, ["url"]),
        ({"url": "https://h/mcp?api_key=abc"}, ["url"]),
        ({"env": {"PASSWORD": "x"}, "headers": {"Cookie": "y"}}, ["env.PASSWORD", "headers.Cookie"]),
    ],
)
def test_what_looks_like_a_secret_is_named_by_its_place(definition: dict[str, Any], places: list[str]) -> None:
    assert plain_secrets(definition) == places


@pytest.mark.parametrize(
    "definition",
    [
        {"env": {"TOKEN": "${env:GH}", "PASSWORD": "${file:/run/secret}"}},
        {"headers": {"Authorization": "Bearer ${env:GH}"}},
        {"env": {"NODE_ENV": "production", "PATH": "/usr/local/bin:/usr/bin", "USE_TOKEN": "true", "TOKEN": ""}},
        {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv", "--token", "${X}"]},
        {"url": "https://h/mcp?tenant=acme&page=2"},
        {"url": "http://[broken"},
        {"env": "no mapping", "args": "no list", "url": 5},
        {},
    ],
)
def test_references_and_harmless_words_are_let_pass(definition: dict[str, Any]) -> None:
    assert plain_secrets(definition) == []
