"""Replaying the record: what would change, and nothing that happens by it."""

from typing import Any

import pytest

from interlock.app.compiled import draft_of
from interlock.core.canonical import argument_digest
from interlock.core.rules import Rule
from interlock.core.safety import Effect
from interlock.store.protocol import Activity
from interlock.web import replay
from tests.web.office import Office, activity
from tests.web.test_rules import govern

CANDIDATE = """\
servers: {up: {command: prog, namespace: upper}}
overrides: {"up:get_y": dangerous}
route_rules:
  - {id: ask, tool_pattern: "upper__write_*", args: {path: "/etc/*"}, effect: hold}
  - {id: never, caller: "ci-*", effect: deny}
"""


def call(number: int, arguments: dict[str, Any] | None = None, **columns: Any) -> Activity:
    said = arguments or {}
    body: dict[str, Any] = {
        "entry": "mcp",
        "arguments": said,
        "digest": argument_digest(said),
        "metadata": {"tool_variant": "direct"},
        "reasons": [{"code": None, "text": "because"}],
    }
    known: dict[str, Any] = {
        "server": "up",
        "tool": "write_x",
        "caller": "ann",
        "workspace": "ws-default",
        "safety_class": "write-capable",
        "verdict": "allow",
        "rule_id": "posture:guarded",
    }
    return activity(number, body=body | columns.pop("body", {}), **(known | columns))


async def replayed(office: Office, *calls: Activity, **body: Any) -> dict[str, Any]:
    office.parts.draft = draft_of
    await office.store.write(calls)
    office.clock.forward(60_000_000)
    answer = await office.ask("POST", "/rules/replay", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_candidate_is_held_against_what_was_decided(bare: Office) -> None:
    told = await replayed(
        bare,
        call(1, {"path": "/etc/passwd"}),
        call(2, {"path": "/srv/x"}),
        call(3, caller="ci-1"),
        call(4, caller="ci-2", verdict="hold"),
        config=CANDIDATE,
    )

    assert (told["calls"], told["changed"], told["complete"]) == (4, 3, True)
    assert told["counts"] == {"allow → deny": 1, "hold → deny": 1, "allow → hold": 1}
    assert [each["activity_id"] for each in told["items"]] == ["act-0004", "act-0003", "act-0001"]
    assert told["items"][-1] == {
        "activity_id": "act-0001",
        "at": "2026-09-21T14:13:21.000000Z",
        "tool": "up:write_x",
        "caller": "ann",
        "workspace_id": "ws-default",
        "safety_class": "write-capable",
        "exact": True,
        "before": {"verdict": "allow", "rule_id": "posture:guarded", "reasons": ["because"]},
        "after": {"verdict": "hold", "rule_id": "ask", "reasons": ["rule 'ask' says hold"]},
    }


async def test_nothing_is_called_recorded_or_changed_by_it(live: Office) -> None:
    await replayed(live, call(1, tool="delete_note", safety_class="dangerous", verdict="hold"), config=CANDIDATE)

    assert (len(await live.calls()), live.sends()) == (1, 0)
    assert live.parts.pipeline.policy.rules.rules == ()


async def test_without_a_candidate_it_is_what_is_in_force(bare: Office) -> None:
    govern(bare, Rule("no", Effect.DENY))

    assert (await replayed(bare, call(1)))["counts"] == {"allow → deny": 1}


async def test_a_call_that_passed_by_an_approval_was_held(bare: Office) -> None:
    told = await replayed(bare, call(1, safety_class="dangerous", tool="delete_x", approval_id="ap_1"))

    assert (told["calls"], told["changed"]) == (1, 0)


async def test_what_no_rule_decided_is_left_out(bare: Office) -> None:
    frozen = call(1, verdict="deny", rule_id="freeze", body={"reasons": [{"code": "FROZEN", "text": "stop"}]})
    by_flag = call(2, body={"entry": "run-tool"})
    unknown = call(3, safety_class=None)
    told = await replayed(bare, frozen, by_flag, unknown, config=CANDIDATE)

    assert (told["calls"], told["skipped"], told["changed"]) == (0, 3, 0)


async def test_a_new_tool_stays_held(bare: Office) -> None:
    new = {"reasons": [{"code": "NEW_TOOL", "text": "it is new"}]}
    told = await replayed(bare, call(1, verdict="hold", rule_id="drift:new", body=new), config="")

    assert (told["calls"], told["changed"]) == (1, 0)


async def test_a_class_that_the_candidate_sets_counts(bare: Office) -> None:
    told = await replayed(bare, call(1, tool="get_y", safety_class="read-only"), config=CANDIDATE)

    assert told["counts"] == {"allow → hold": 1}
    assert told["items"][0]["safety_class"] == "read-only"


async def test_where_something_is_hidden_it_is_said(bare: Office) -> None:
    hidden = call(1, caller="ci-1", body={"arguments": {"password": "[redacted text of 9 characters]"}})

    assert (await replayed(bare, hidden, config=CANDIDATE))["items"][0]["exact"] is False


async def test_what_happened_before_is_left_out(bare: Office) -> None:
    old = call(-9000)
    assert (await replayed(bare, old, since="1h"))["calls"] == 0
    assert (await replayed(bare, old, since="5h"))["calls"] == 1


async def test_only_so_many_are_replayed_and_shown(bare: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "MOST_CALLS", 20)
    monkeypatch.setattr(replay, "SLICE", 5)
    monkeypatch.setattr(replay, "MOST_SHOWN", 3)
    told = await replayed(bare, *(call(number, caller="ci-1") for number in range(30)), config=CANDIDATE)

    assert (told["calls"], told["changed"], told["complete"], len(told["items"])) == (20, 20, False, 3)
    assert told["items"][0]["activity_id"] == "act-0029"


async def test_a_candidate_with_faults_is_refused_with_their_places(bare: Office) -> None:
    bare.parts.draft = draft_of
    answer = await bare.ask("POST", "/rules/replay", json={"config": "posture: gard\nroute_rules: [{effect: allow}]\n"})

    assert answer.status_code == 400
    assert "candidate:1:10" in answer.json()["detail"]
    assert "candidate:2" in answer.json()["detail"]


@pytest.mark.parametrize("body", [{"since": "soon"}, {"since": "2099-01-01"}, {"config": 5}, {"config": "x" * 300_000}])
async def test_what_makes_no_sense_is_refused(bare: Office, body: dict[str, Any]) -> None:
    assert (await bare.ask("POST", "/rules/replay", json=body)).status_code in (400, 413)


async def test_a_face_that_cannot_read_a_configuration_says_so(bare: Office) -> None:
    assert (await bare.ask("POST", "/rules/replay", json={"config": ""})).status_code == 400
