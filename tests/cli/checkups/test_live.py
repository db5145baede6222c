"""The checks that ask a gateway."""

import socket
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from interlock.cli.checkups.checkup import FAIL, OK, WARN
from interlock.cli.checkups.live import (
    approvals_check,
    dashboard_check,
    fixes,
    freezes_check,
    issuer_check,
    notices_check,
    problem_of,
    seals_check,
    servers_check,
    store_check,
    tokens_check,
    tools_check,
    unchecked,
)
from interlock.receive.reach import OwnReach, RemoteReach
from interlock.web.dashboard import POLICY
from interlock.web.times import iso

NOW = 1_790_000_000_000_000
DAY = 86_400_000_000


def server(**more: Any) -> dict[str, Any]:
    shown = {"id": "a", "enabled": True, "health": "ready", "problem": "", "tools": 3, "transport": "stdio"}
    return {**shown, "left_out": [], "poisoned": 0, **more}


def token(**more: Any) -> dict[str, Any]:
    return {"id": "t", "name": "ci", "roles": ["agent"], "expires_at": None, "revoked_at": None, **more}


def test_servers_that_are_ready_or_switched_off_are_no_finding() -> None:
    told = servers_check([server(), server(enabled=False, health="stopped", tools=0)])

    assert (told.state, told.text) == (OK, "1 server ready, with 3 tools.")


@pytest.mark.parametrize("health", ["down", "starting", "stopped"])
def test_a_server_that_should_run_and_does_not_is_a_finding_with_its_problem(health: str) -> None:
    told = servers_check([server(), server(id="b", health=health, problem="it died")])

    assert (told.state, told.text) == (FAIL, f"b is {health}: it died")
    assert "interlock server logs b" in told.fix


def test_tools_that_were_left_out_of_a_list_are_worth_a_look() -> None:
    told = servers_check([server(), server(id="b", left_out=[{"text": "2 listed tools were left out"}])])

    assert (told.state, told.text) == (WARN, "b: 2 listed tools were left out")


def test_a_problem_is_why_a_server_is_down_and_what_was_left_out() -> None:
    assert problem_of(server()) == ""
    assert problem_of(server(problem="it died", left_out=[{"text": "one"}, {"text": "two"}])) == "it died; one; two"


def test_every_server_that_does_not_work_is_named_with_what_to_do() -> None:
    told = servers_check([server(id=f"s{number}", health="down", problem="it died") for number in range(8)])

    assert all(f"s{number} is down" in told.text for number in range(8))
    assert all(f"s{number}: `interlock server logs s{number}`" in told.fix for number in range(8))


def test_what_to_do_depends_on_how_a_server_is_reached_and_is_not_said_twice() -> None:
    unset = "X is not set. Give it to the gateway, then `interlock server restart c`."
    a, b = server(id="a"), server(id="b", transport="http")

    assert fixes([a, b, server(id="c", problem=unset)]) == [
        "a: `interlock server logs a` shows what it wrote. Correct its command, then `interlock server restart a`.",
        "b: Start what should answer there, or correct its url. It is tried again by itself.",
    ]


def tool(name: str, safety_class: str = "unknown", standing: str = "known") -> dict[str, str]:
    return {"name": name, "safety_class": safety_class, "standing": standing}


def test_tools_that_would_be_held_are_counted_and_some_named() -> None:
    told = tools_check([tool(f"a:t{number}") for number in range(9)])

    assert told.state == WARN
    assert told.text.startswith("9 tools of unknown class")
    assert "a:t4, …" in told.text
    assert tools_check([tool("a:b", "read-only")]).state == OK


@pytest.mark.parametrize("standing", ["new", "changed"])
def test_tools_that_nobody_has_reviewed_as_they_are_now_are_named(standing: str) -> None:
    told = tools_check([tool("a:b", "read-only"), tool("a:c", "read-only", standing)])

    assert (told.state, told.text) == (WARN, "1 tool not as reviewed would be held or blocked: a:c.")
    assert "`interlock tool diff a:c`" in told.fix


def test_tools_with_signs_of_poison_are_told_as_such_and_nobody_is_advised_to_trust_them() -> None:
    told = tools_check([tool("a:b", "read-only"), tool("a:c", "unknown", "poisoned")])

    assert (told.state, told.text) == (WARN, "1 tool quarantined for signs of poison: a:c.")
    assert "`interlock tool show a:c`" in told.fix
    assert "trust" not in told.fix
    assert problem_of(server(poisoned=2)) == "2 tools quarantined for signs of poison"


def test_a_name_in_a_command_is_one_word_whatever_its_server_called_it() -> None:
    told = tools_check([tool("a:b; rm x", "unknown", "new")])

    assert "`interlock tool diff 'a:b; rm x'`" in told.fix
    assert "`interlock tool override 'a:b; rm x' CLASS`" in told.fix


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (token(expires_at=iso(NOW - 1)), "'ci' has expired"),
        (token(expires_at=iso(NOW + DAY)), "'ci' expires soon"),
        (token(roles=["admin"]), "'ci' is an admin for ever"),
    ],
)
def test_a_token_that_needs_looking_after_is_a_finding(given: dict[str, Any], problem: str) -> None:
    assert (tokens_check([given], NOW).state, tokens_check([given], NOW).text) == (WARN, problem)
    assert tokens_check([{**given, "revoked_at": iso(NOW)}], NOW).state == OK


@pytest.mark.parametrize(
    "given", [token(), token(expires_at=iso(NOW + 30 * DAY)), token(name="operator", roles=["admin", "approver"])]
)
def test_a_token_that_is_fine_is_no_finding(given: dict[str, Any]) -> None:
    assert tokens_check([given], NOW).state == OK


def test_what_could_not_be_asked_is_a_finding_each() -> None:
    assert [each.state for each in unchecked("nobody answers")] == [WARN] * 9


def notices(*problems: tuple[str, str], configured: bool = True) -> dict[str, Any]:
    return {"configured": configured, "problems": [{"text": text, "fix": fix} for text, fix in problems]}


def test_targets_of_notices_that_are_reached_or_not_there_are_no_finding() -> None:
    assert notices_check(notices()).state == OK
    assert notices_check(notices(configured=False)).state == OK


def test_every_target_that_cannot_be_told_is_a_finding_and_no_fix_is_said_twice() -> None:
    told = notices_check(notices(("A fails.", "Mend it."), ("B fails.", "Mend it.")))

    assert (told.state, told.text, told.fix) == (FAIL, "A fails. B fails.", "Mend it.")


def issuer(**more: Any) -> dict[str, Any]:
    return {"issuer": "https://issuer.example/", "audience": "interlock", "keys": 2, "problem": None, **more}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, "None is named; only tokens of this gateway are accepted."),
        (issuer(), "2 keys of https://issuer.example/ known."),
    ],
)
def test_an_issuer_whose_keys_are_known_or_none_at_all_is_no_finding(given: dict[str, Any] | None, text: str) -> None:
    assert (issuer_check(given).state, issuer_check(given).text) == (OK, text)


def test_keys_that_cannot_be_fetched_are_a_finding_and_a_failure_where_there_are_none() -> None:
    old, none = (issuer_check(issuer(keys=keys, problem="it answered with status 500")) for keys in (2, 0))
    told = "The keys of https://issuer.example/ cannot be fetched: it answered with status 500."

    assert (old.state, old.text) == (WARN, f"{told} Those that were fetched before are still used.")
    assert (none.state, none.text) == (FAIL, f"{told} None of its tokens is accepted.")
    assert "identity.jwt.jwks_url" in none.fix


# Approvals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("holds", "listening", "state"), [(True, True, OK), (True, False, WARN), (False, False, OK), (False, True, OK)]
)
def test_where_calls_can_be_held_somebody_has_to_listen(*, holds: bool, listening: bool, state: str) -> None:
    told = approvals_check({"pending": 1, "listening": listening}, holds=holds)

    assert told.state == state
    assert told.text.endswith("; 1 call waiting for approval.")
    assert bool(told.fix) == (state == WARN)


# Stops ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("freeze", "told", "fix"),
    [
        ({"kind": "all"}, "everything is frozen", "`interlock thaw` "),
        ({"kind": "server", "server": "up"}, "server 'up' is frozen", "`interlock thaw --server up` "),
        ({"kind": "caller", "caller": "a b"}, "caller 'a b' is frozen", "`interlock thaw --caller 'a b'` "),
    ],
)
def test_a_stop_is_told_with_who_gave_it_and_how_it_is_lifted(freeze: dict[str, str], told: str, fix: str) -> None:
    check = freezes_check([{**freeze, "by": "alice"}])

    assert (check.state, check.text) == (WARN, f"Calls are refused: {told} by alice.")
    assert check.fix.startswith(fix)


def test_of_many_stops_some_are_told() -> None:
    many = [{"kind": "caller", "caller": f"c{number}", "by": "alice"} for number in range(6)]

    assert freezes_check(many).text.endswith("caller 'c4' is frozen by alice, ….")


# The dashboard --------------------------------------------------------------------------------------------------


def answering(status: int, policy: str) -> OwnReach:
    """What answers every request in this way."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-security-policy", policy.encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"<!doctype html>"})

    return OwnReach(app, "127.0.0.1:1")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "policy", "state"), [(200, POLICY, OK), (200, "default-src *", WARN), (404, POLICY, FAIL)]
)
async def test_a_dashboard_is_there_when_it_comes_with_our_policy(status: int, policy: str, state: str) -> None:
    told = await dashboard_check(answering(status, policy))

    assert (told.state, bool(told.fix)) == (state, state != OK)


@pytest.mark.anyio
async def test_a_dashboard_that_nobody_serves_is_a_finding() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # taken, and nobody listens
        told = await dashboard_check(RemoteReach("127.0.0.1", closed.getsockname()[1], lambda: True))

    assert (told.state, told.text.startswith("It cannot be reached: ")) == (FAIL, True)


def seals(**more: Any) -> dict[str, Any]:
    shown = {"items": [{"seq": 20}, {"seq": 10}], "end": 25, "anchor": "/mnt/anchor.jsonl", "elsewhere": True}
    return {**shown, "problem": None, "disagreement": None, **more}


def test_a_log_that_is_sealed_is_told_with_where_its_seals_are_kept() -> None:
    told = seals_check(seals())

    assert (told.state, told.fix) == (OK, "")
    assert told.text == "The log is sealed up to record 20 of 25; the seals are kept in /mnt/anchor.jsonl too."


def test_seals_that_lie_beside_the_log_are_no_finding_and_are_told() -> None:
    told = seals_check(seals(elsewhere=False, items=[], end=0))

    assert told.state == OK
    assert told.text.startswith("Nothing is sealed yet; the seals lie beside the log; `record.anchor` puts them where")


def test_that_the_record_of_a_run_is_not_sealed_is_no_finding() -> None:
    told = seals_check(seals(items=[], anchor="", elsewhere=False))

    assert (told.state, told.fix) == (OK, "")
    assert told.text == "This is the record of a run of the lab, which is not sealed."


def test_a_log_that_cannot_be_sealed_is_a_finding_with_the_reason() -> None:
    told = seals_check(seals(problem="No space left on device"))

    assert (told.state, told.text) == (FAIL, "The log cannot be sealed: No space left on device.")
    assert "seal.key" in told.fix


def test_a_log_that_its_anchor_contradicts_is_a_finding() -> None:
    told = seals_check(seals(disagreement="The log ends before entry 40: it was cut off."))

    assert (told.state, told.text) == (FAIL, "The log ends before entry 40: it was cut off.")
    assert "audit verify" in told.fix


@pytest.mark.parametrize(("ok", "state"), [(True, OK), (False, FAIL)])
def test_a_gateway_that_cannot_write_its_record_is_a_finding(ok: bool, state: str) -> None:
    told = store_check(
        [{"name": "servers", "ok": False, "text": "x"}, {"name": "store", "ok": ok, "text": "As it is."}]
    )

    assert told.state == state
    assert told.text.startswith("As it is.")
    assert ("are refused" in told.text) is not ok
