"""`interlock grant`: what approvals became, and taking it back."""

import re

import pytest

from tests.cli.holding import Rest, held
from tests.cli.running import Beside, Interlock


def granted(il: Interlock, beside: Beside, command: str) -> str:
    """The id of a grant that stands for a while."""
    with held(beside.running, {"command": command}, tool="up/run_command") as call:
        il("approval", "approve", call.end, "--scope", "identical", "--for", "5m")
        call.answer()
    return f"gr_{call.id.removeprefix('ap_')}"


def test_grants_are_listed_with_their_scope_and_their_uses(il: Interlock, beside: Beside) -> None:
    grant = granted(il, beside, "listed")
    done, as_json = il("grant", "list"), il("grant", "list", "--json")
    (row,) = [re.split(r"  +", line) for line in done.lines if grant in line]

    assert (done.exit, done.err) == (0, "")
    assert done.lines[0].split() == "ID CALLER TOOL SCOPE USES GIVEN BY UNTIL".split()
    assert row[1:6] == ["operator-agent", "up:run_command", "identical", "1", "operator"]
    assert [each["scope"] for each in as_json.json["items"] if each["id"] == grant] == ["identical"]


def test_a_grant_that_is_revoked_lets_nothing_pass_any_more(il: Interlock, beside: Beside) -> None:
    grant = granted(il, beside, "revoked")
    done = il("grant", "revoke", grant[-6:])
    with held(beside.running, {"command": "revoked"}, tool="up/run_command") as again:
        asked = again.id

    assert (done.exit, done.out) == (0, "")
    assert done.err == f"Grant {grant} is revoked; no call passes by it any more.\n"
    assert asked
    assert grant not in il("grant", "list").out


def test_in_json_the_revoked_grant_is_printed(il: Interlock, beside: Beside) -> None:
    grant = granted(il, beside, "told")

    assert il("grant", "revoke", grant, "--json").json["id"] == grant


def test_without_a_grant_it_says_so(il: Interlock) -> None:
    done = il("grant", "list")

    assert (done.exit, done.out, done.err) == (0, "", "No grant is good now.\n")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("nothing", "Grant 'nothing' not found. No such grant is good now.\n"),
        ("gr", "'gr' is too short for an id\n"),
    ],
)
def test_a_grant_that_there_is_not_is_a_usage_error(il: Interlock, beside: Beside, given: str, error: str) -> None:
    done = il("grant", "revoke", given)

    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith(error)


def test_a_part_that_fits_several_revokes_none(il: Interlock, beside: Beside) -> None:
    grants = [granted(il, beside, each) for each in ("one", "two")]
    done = il("grant", "revoke", "gr_0")
    left = [each["id"] for each in Rest(beside.running).get("/grants")["items"]]

    assert done.exit == 2
    assert done.err.startswith("several grants begin or end with 'gr_0': ")
    assert set(grants) <= set(left)
