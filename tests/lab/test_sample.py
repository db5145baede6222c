"""The bundled server: one tool of each kind, and nothing it does leaves it."""

import json
import subprocess
import sys
from typing import Any

import pytest

from interlock.core.classify import classify_listing
from interlock.lab.sample import NOTES, TOOLS, answer


def called(name: str, arguments: dict[str, Any] | None = None) -> tuple[str, bool]:
    result = answer("tools/call", {"name": name, "arguments": arguments or {}})
    assert result is not None
    return result["content"][0]["text"], result["isError"]


@pytest.fixture(autouse=True)
def _same_notes_afterwards() -> Any:
    before = dict(NOTES)
    yield
    NOTES.clear()
    NOTES.update(before)


def test_there_is_one_tool_of_each_kind() -> None:
    classes = {tool.name: each.gateway.value for tool, each in classify_listing([tool for tool, _ in TOOLS])}

    assert classes == {
        "list_notes": "read-only",
        "read_note": "read-only",
        "write_note": "write-capable",
        "delete_note": "dangerous",
        "run_script": "subprocess",
        "frobnicate": "unknown",
    }


def test_notes_are_written_read_listed_and_deleted() -> None:
    assert called("write_note", {"name": "a", "text": "b"}) == ("wrote a", False)
    assert called("read_note", {"name": "a"}) == ("b", False)
    assert called("list_notes") == ("a\ntodo\nwelcome", False)
    assert called("delete_note", {"name": "a"}) == ("deleted a", False)
    assert called("read_note", {"name": "a"}) == ("there is no 'a'", True)


@pytest.mark.parametrize("name", ["run_script", "frobnicate"])
def test_the_others_only_pretend(name: str) -> None:
    assert called(name)[1] is False


def test_a_tool_that_is_not_there_is_an_error() -> None:
    assert called("nothing") == ("no such tool", True)


def test_it_speaks_the_protocol_over_stdio() -> None:
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 4, "method": "nothing"},
    ]
    done = subprocess.run(
        [sys.executable, "-m", "interlock.lab.sample"],
        input="".join(json.dumps(message) + "\n" for message in messages),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]

    assert [each["id"] for each in answers] == [1, 2, 3, 4]
    assert answers[0]["result"]["protocolVersion"] == "2025-11-25"
    assert len(answers[2]["result"]["tools"]) == 6
    assert answers[3]["error"]["code"] == -32601
