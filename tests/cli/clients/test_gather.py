"""The servers of all clients as one list."""

import re
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.clients.adopt import adopt
from interlock.cli.clients.file import Named
from interlock.cli.clients.gather import MAX_SERVERS, Gathered, gather, is_our_entry, taken_over
from interlock.cli.clients.table import CLIENTS
from interlock.config.tree import Server, Settings
from interlock.errors import InterlockError

SECRET = "ghp_" + "0123456789" * 4
OTHER = "ghp_" + "9876543210" * 4


def named(name: str, entry: dict[str, Any], client: str = "cursor") -> Named:
    return Named(CLIENTS[client], Path("/f"), CLIENTS[client].keys[0], name, entry)


def gathered(*found: Named, known: dict[str, Server] | None = None) -> Gathered:
    return gather(found, Settings(), known or {}, {})


def ids(result: Gathered) -> list[tuple[str, int]]:
    return [(each.adopted.id, len(each.sources)) for each in result.new]


def test_the_same_command_in_two_clients_is_one_server() -> None:
    entry = {"command": "p", "args": ["a"]}

    assert ids(gathered(named("one", entry), named("two", {**entry, "type": "stdio"}, "vscode"))) == [("one", 2)]


def test_the_same_address_under_the_words_of_two_clients_is_one_server() -> None:
    first, second = named("a", {"url": "http://h/"}), named("a", {"serverUrl": "http://h/"}, "windsurf")

    assert ids(gathered(first, second)) == [("a", 2)]


@pytest.mark.parametrize(
    "other",
    [
        {"command": "p", "args": ["b"]},
        {"command": "p", "env": {"TOKEN": OTHER}},
        {"url": "http://h/"},
    ],
)
def test_two_servers_of_one_name_are_told_apart(other: dict[str, Any]) -> None:
    assert ids(gathered(named("A", {"command": "p", "env": {"TOKEN": SECRET}}), named("a", other))) == [
        ("a", 1),
        ("a-2", 1),
    ]


def test_a_server_that_one_client_uses_stays_switched_on() -> None:
    off, on = named("a", {"command": "p", "disabled": True}), named("a", {"command": "p"}, "gemini")

    assert "enabled" not in gathered(off, on).new[0].adopted.definition
    assert gathered(off).new[0].adopted.definition["enabled"] is False


def test_no_server_gets_a_name_of_ours_or_one_that_is_taken() -> None:
    result = gathered(
        named("interlock", {"command": "p"}),
        named("there", {"command": "q"}),
        known={"there": Server(command="another")},
    )

    assert ids(result) == [("interlock-2", 1), ("there-2", 1)]


@pytest.mark.parametrize(
    ("entry", "ours"),
    [
        ({"command": "/usr/bin/interlock", "args": ["stdio"]}, True),
        ({"command": "C:\\Tools\\interlock.exe", "args": ["stdio"]}, True),
        ({"command": "python", "args": ["-m", "interlock", "stdio"]}, True),
        ({"url": "http://127.0.0.1:7373/mcp"}, True),
        ({"url": "http://localhost:7373/mcp"}, True),
        ({"url": "https://somewhere.example/mcp"}, False),
        ({"url": "http://[broken/"}, False),
        ({"command": "other"}, False),
    ],
)
def test_interlock_itself_is_left_out(entry: dict[str, Any], ours: bool) -> None:
    assert is_our_entry(named("interlock", entry)) is ours
    if ours:
        assert gathered(named("interlock", entry)) == Gathered()


@pytest.mark.parametrize(
    ("entry", "client", "why"),
    [
        ({"command": "p", "args": ["--token", "hunter2hunter2"]}, "cursor", r"args\[1\]: looks like a secret"),
        ({"command": "p", "args": ["${workspaceFolder}"]}, "vscode", "args names a variable"),
        ({"url": "http://h/x"}, "gemini", "SSE"),
        ({"url": "http://h/sse"}, "cursor", "SSE"),
        ({"url": "ftp://h/"}, "cursor", "url"),
        ({}, "cursor", "needs either"),
        ({"url": "http://h/", "headers": {"A": f"${{X}} {SECRET}"}}, "cursor", "mixes"),
        ({"command": "p", "env": {"TOKEN": f"{SECRET}\n"}}, "cursor", "line break"),
    ],
)
def test_what_would_not_work_stays_with_its_client(entry: dict[str, Any], client: str, why: str) -> None:
    result = gathered(named("a", entry, client))

    assert result.new == []
    (refused,) = result.refused
    assert refused.why
    assert re.search(why, refused.why)
    assert SECRET not in refused.why


def test_what_is_taken_over_already_is_known() -> None:
    known = {"mine": Server(command="p", args=["a"])}

    result = gathered(named("a", {"command": "p", "args": ["a"], "timeout": 5000}), known=known)

    assert [name for _, name in result.known] == ["mine"]
    assert result.new == []


@pytest.mark.parametrize(
    ("reference", "environ", "same"),
    [
        ("${env:GH}", {"GH": SECRET}, True),
        ("${env:GH}", {"GH": OTHER}, False),
        ("${env:GH}", {}, True),
        ("${file:/nowhere}", {}, True),
        ("plain", {}, False),
    ],
)
def test_a_secret_is_the_same_when_the_reference_leads_to_it(
    reference: str, environ: dict[str, str], same: bool
) -> None:
    adopted = adopt("a", {"command": "p", "env": {"TOKEN": SECRET, "MODE": "x"}})
    server = Server(command="p", env={"TOKEN": reference, "MODE": "x"})

    assert (taken_over(adopted, {"a": server}, environ) == "a") is same


@pytest.mark.parametrize("env", [{}, {"MODE": "y"}, {"MODE": "x", "MORE": "z"}])
def test_other_settings_make_another_server(env: dict[str, str]) -> None:
    adopted = adopt("a", {"command": "p", "env": {"MODE": "x"}})

    assert taken_over(adopted, {"a": Server(command="p", env=env)}, {}) is None


def test_there_is_an_end_to_what_is_taken_over() -> None:
    many = (named(f"s{number}", {"command": f"p{number}"}) for number in range(MAX_SERVERS + 1))

    with pytest.raises(InterlockError, match="more than 200 servers"):
        gathered(*many)
