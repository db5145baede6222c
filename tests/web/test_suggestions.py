"""Suggestions over REST: from the approvals of the store, and fit to be written down."""

from dataclasses import replace

from msgspec import structs

from interlock.app.compiled import draft_of
from interlock.core.canonical import argument_digest
from interlock.core.rules import Rule
from interlock.core.safety import Effect
from tests.web.office import HOUR, Office
from tests.web.questions import question
from tests.web.test_rules import govern


async def approved(office: Office, *numbers: int, tool: str = "run_it") -> None:
    """Have the same call approved again and again."""
    for number in numbers:
        asked = {"arguments": {"repo": "acme"}}
        made = question(number, tool=tool, asked=asked)
        # Each under a hash of its own, as if the terms had changed: otherwise the grant of the first would cover all.
        key = replace(made.key, digest=argument_digest(asked["arguments"]), rule_hash=str(number))
        made = structs.replace(made, key=key)
        await office.parts.room.register.add(made)
        answer = await office.ask("POST", f"/approvals/{made.id}/approve", "approver")
        assert answer.status_code == 200, answer.text


async def test_what_is_approved_again_and_again_becomes_a_rule_that_would_allow_it(bare: Office) -> None:
    await approved(bare, 1, 2, 3)
    told = await bare.get("/rules/suggestions", "auditor")
    (found,) = told["items"]

    assert (found["approved"], found["approvers"], told["complete"]) == (3, ["the-approver"], True)
    indented = found["yaml"].replace("\n", "\n  ")
    draft = draft_of(
        "servers: {up: {command: x, namespace: upper}}\nworkspaces: [{id: ws-default}]\nroute_rules:\n  " + indented
    )
    (rule,) = draft.policy.rules.rules
    assert (rule.rule.id, rule.rule.effect, rule.rule.caller) == ("allow-ci-run_it", Effect.ALLOW, "ci")
    assert dict(rule.rule.args) == {"repo": {"equals": "acme"}}


async def test_what_passes_by_now_is_not_suggested(bare: Office) -> None:
    await approved(bare, 1, 2, 3)
    govern(bare, Rule("fine", Effect.ALLOW, tool_pattern=("upper__run_*",)))

    assert (await bare.get("/rules/suggestions"))["items"] == []


async def test_a_rule_that_holds_it_is_overtaken(bare: Office) -> None:
    await approved(bare, 1, 2, 3)
    govern(bare, Rule("posture:guarded", Effect.HOLD, priority=6))
    (found,) = (await bare.get("/rules/suggestions"))["items"]

    assert found["rule"]["priority"] == 7


async def test_approvals_of_long_ago_do_not_count(bare: Office) -> None:
    await approved(bare, 1, 2, 3)
    bare.clock.forward(2 * HOUR)

    assert (await bare.get("/rules/suggestions?since=1h"))["items"] == []
    assert (await bare.ask("GET", "/rules/suggestions?since=soon")).status_code == 400
