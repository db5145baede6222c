"""More servers in the settings file, and everything else as it was."""

from pathlib import Path
from typing import Any

import pytest

from interlock.cli.clients.settings_text import HEADING, extended
from interlock.config.source import parse
from interlock.errors import InterlockError

NEW: dict[str, dict[str, Any]] = {"new": {"command": "p", "args": ["-y", "no"], "env": {"A": "${env:A}"}}}
FILE = Path("interlock.yaml")


def test_a_new_file_has_a_heading_and_the_servers() -> None:
    text = extended("", NEW, FILE)

    assert text.startswith(HEADING)
    assert parse(text, "x").value == {"servers": NEW}


def test_comments_order_and_quotes_stay() -> None:
    text = """\
# ours
posture: 'strict'   # on purpose

servers:  # all of them
  # the old one
  old: {command: "q", args: [a]}  # kept

# rules
route_rules:
  - id: one        # first
    effect: deny
"""
    result = extended(text, NEW, FILE)

    added = set(result.splitlines()) - set(text.splitlines())
    assert {line.strip() for line in added} >= {"new:", "command: p"}
    assert [line for line in text.splitlines() if line not in result.splitlines()] == []
    assert parse(result, "x").value == {
        "posture": "strict",
        "servers": {**NEW, "old": {"command": "q", "args": ["a"]}},
        "route_rules": [{"id": "one", "effect": "deny"}],
    }


@pytest.mark.parametrize("text", ["# only words\n", "posture: open\n", "servers:\n", "servers: {}\n"])
def test_a_file_without_servers_gets_them(text: str) -> None:
    result = extended(text, NEW, FILE)

    value: Any = parse(result, "x").value
    assert value["servers"] == NEW
    assert result.startswith(text.rstrip("\n :{}"))


@pytest.mark.parametrize("text", ["- a\n", "servers: 5\n", "a: [\n", "a: 1\r\n", "a: &x 1\na: *x\n"])
def test_a_file_that_would_not_stay_as_it_is_is_refused(text: str) -> None:
    with pytest.raises(InterlockError, match=r"interlock.yaml: cannot be extended"):
        extended(text, NEW, FILE)
