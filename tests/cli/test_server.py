"""`interlock server`: how the servers are doing, and what they wrote."""

from pathlib import Path

import pytest

from tests.cli.lab.places import SECRETIVE
from tests.cli.running import Beside, Interlock, configure, gateway_beside
from tests.running import server_yaml
from tests.upstream.running import stdio_argv

HEADING = ["SERVER", "NAMESPACE", "TRANSPORT", "HEALTH", "TOOLS", "PROTOCOL", "TRUSTED", "PROBLEM"]


def test_the_servers_are_a_table(il: Interlock, beside: Beside) -> None:
    done = il("server", "list")
    rows = [line.split() for line in done.lines]

    assert (done.exit, done.err) == (0, "")
    assert rows[0] == HEADING
    assert rows[1][:4] + rows[1][5:] == ["up", "up", "stdio", "ready", "2026-07-28", "yes"]
    assert rows[2][:7] == ["odd", "odd", "stdio", "ready", "6", "2025-11-25", "no"]
    assert " ".join(rows[2][7:]) == "1 tool quarantined for signs of poison"
    assert rows[3][:6] == ["down", "down", "stdio", "down", "0", "no"]


def test_in_json_it_is_what_rest_says(il: Interlock, beside: Beside) -> None:
    done = il("server", "list", "--json")

    assert (done.exit, done.json["total"]) == (0, 3)
    assert [(each["id"], each["health"]) for each in done.json["items"]] == [
        ("up", "ready"),
        ("odd", "ready"),
        ("down", "down"),
    ]


def test_without_a_gateway_the_servers_are_started_to_see(il: Interlock) -> None:
    done = il("server", "list")

    assert [line.split()[:5] for line in done.lines[1:]] == [["sample", "sample", "stdio", "ready", "6"]]


def test_a_server_that_is_switched_off_is_listed_as_that(il: Interlock) -> None:
    configure("servers: {a: {command: x, enabled: false}}")
    done = il("server", "list")

    assert (done.exit, done.err) == (0, "")
    assert done.lines[1].split() == ["a", "a", "stdio", "stopped", "0", "no", "it", "is", "switched", "off"]


# logs -----------------------------------------------------------------------------------------------------------


def test_logs_are_printed_with_what_is_hidden_made_visible(il: Interlock, beside: Beside) -> None:
    done = il("server", "logs", "odd")

    assert (done.exit, done.err) == (0, "")
    assert done.lines == ["first", "second <U+001B>[31mred <U+202E>back"]


def test_the_last_lines_are_enough_if_asked_for(il: Interlock, beside: Beside) -> None:
    assert il("server", "logs", "odd", "--limit", "1").lines == ["second <U+001B>[31mred <U+202E>back"]


def test_logs_in_json_are_what_rest_says(il: Interlock, beside: Beside) -> None:
    done = il("server", "logs", "odd", "--json")

    assert done.json == {"items": ["first", "second \x1b[31mred \u202eback"]}
    assert "\x1b" not in done.out


def test_a_server_that_wrote_nothing_is_told(il: Interlock, beside: Beside) -> None:
    done = il("server", "logs", "up")

    assert (done.exit, done.out, done.err) == (0, "", "Server 'up' wrote nothing to its stderr.\n")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("od",), "Server 'od' not found."),
        (("odd", "--limit", "0"), "limit: "),
        (("odd", "--limit", "x"), "argument --limit: invalid int value: 'x'\n"),
        ((), "the following arguments are required: SERVER\n"),
    ],
)
def test_what_cannot_be_is_a_usage_error(il: Interlock, beside: Beside, words: tuple[str, ...], error: str) -> None:
    done = il("server", "logs", *words)

    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith(error)


def test_why_a_server_did_not_start_is_in_the_table(il: Interlock, tmp_path: Path) -> None:
    configure("servers: {a: {command: /nowhere/at/all}}")

    assert "/nowhere/at/all" in il("server", "list").lines[1]


# Changes --------------------------------------------------------------------------------------------------------


def test_tools_that_were_left_out_are_a_problem_in_the_table(il: Interlock) -> None:
    configure("servers:\n" + server_yaml("shy", SECRETIVE))
    (row,) = (line for line in il("server", "list").lines if line.startswith("shy"))

    assert row.endswith("1 listed tool was left out (nested too deeply); the first is 'get_<U+202E>deep'")


def test_a_server_is_switched_off_and_on_restarted_and_not_removed_from_the_file(il: Interlock, tmp_path: Path) -> None:
    text = "servers:\n" + server_yaml("up", stdio_argv(tmp_path / "up.log"))
    with gateway_beside(tmp_path, text) as running:
        words = ("--data-dir", str(running.folder.path))
        done = [il("server", each, "up", *words) for each in ("disable", "enable", "restart", "remove")]
        unknown = il("server", "restart", "uq", *words)

    assert [each.exit for each in done] == [0, 0, 0, 2]
    assert [each.lines for each in done[:3]] == [
        ["Server 'up' is stopped: it is switched off"],
        ["Server 'up' is ready"],
        ["Server 'up' is ready"],
    ]
    assert "`interlock server disable up`" in done[3].err
    assert unknown.exit == 2


def test_a_server_can_be_switched_off_while_no_gateway_runs(il: Interlock) -> None:
    configure("servers: {a: {command: /nowhere/at/all}}\n")

    assert il("server", "disable", "a", "--json").json["enabled"] is False
    assert il("server", "list", "--json").json["items"][0]["health"] == "stopped"


def test_a_server_that_was_added_is_removed(il: Interlock) -> None:
    il("server", "add", "x", "--command", "/nowhere/at/all")
    done = il("server", "remove", "x")

    assert (done.exit, done.lines) == (0, ["Server 'x' was removed."])
    assert il("server", "list", "--json").json["items"][0]["id"] == "sample"
