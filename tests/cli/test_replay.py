"""`interlock rule replay`: what would change, on stdout, and what was done, on stderr."""

from pathlib import Path

import pytest

from tests.cli.running import Beside, Interlock

STRICT = """\
posture: strict
servers: {up: {command: x}}
route_rules: [{id: no-echo, tool_pattern: 'up__echo', effect: deny}]
"""


@pytest.fixture
def made(il: Interlock, beside: Beside) -> Beside:
    """A gateway that has one call on record that a candidate could change."""
    il("call", "tool-read", "--tool-name", "up:echo", "--json_args", "{}")
    return beside


def test_what_a_candidate_would_change_is_listed(il: Interlock, made: Beside) -> None:
    Path("candidate.yaml").write_text(STRICT, encoding="utf-8")
    sent = made.sent()
    done = il("rule", "replay", "--since", "1h", "--config", "candidate.yaml")

    assert done.exit == 0
    assert done.lines[0].split() == "WHEN TOOL CALLER WAS BY WOULD BE BY ID".split()
    assert all(word in done.lines[1] for word in ("up:echo", "operator-agent", "allow", "deny", "no-echo"))
    assert "replayed with the candidate; nothing was called." in done.err
    assert "allow → deny" in done.err
    assert made.sent() == sent


def test_what_is_in_force_changes_nothing(il: Interlock, made: Beside) -> None:
    done = il("rule", "replay")

    assert (done.exit, done.out) == (0, "")
    assert "replayed with what is in force" in done.err
    assert "Nothing would change." in done.err


def test_scripts_get_all_of_it(il: Interlock, made: Beside) -> None:
    Path("candidate.yaml").write_text(STRICT, encoding="utf-8")
    done = il("rule", "replay", "--config", "candidate.yaml", "--json")

    assert done.json["counts"]["allow → deny"] >= 1
    assert done.json["items"][0]["after"]["rule_id"] == "no-echo"


@pytest.mark.parametrize(
    ("content", "word"), [(b"posture: gard", "posture"), (b"\xff\xfe", "UTF-8"), (None, "cannot be read")]
)
def test_a_candidate_that_cannot_be_used_is_a_usage_error(
    il: Interlock, made: Beside, content: bytes | None, word: str
) -> None:
    if content is not None:
        Path("candidate.yaml").write_bytes(content)
    done = il("rule", "replay", "--config", "candidate.yaml")

    assert (done.exit, done.out) == (2, "")
    assert word in done.err


def test_what_was_left_out_is_said(il: Interlock, made: Beside) -> None:
    il("call", "tool-read", "--tool-name", "up:none")

    assert "Left out, because no rule decided them: " in il("rule", "replay").err


def test_where_secrets_were_hidden_it_is_said(il: Interlock, made: Beside) -> None:
    il("call", "tool-read", "--tool-name", "up:echo", "--json_args", '{"password": "swordfish-and-more"}')
    Path("candidate.yaml").write_text(STRICT, encoding="utf-8")
    done = il("rule", "replay", "--config", "candidate.yaml")

    assert "up:echo *" in done.out
    assert "Something in the arguments was hidden" in done.err
