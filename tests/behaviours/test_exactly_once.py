"""What was approved runs once, and only if it is still what was approved: each single change while it waits."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from msgspec.structs import replace

from interlock.approve.approvers import Refused
from interlock.config.roster import Roster
from interlock.core.approvals import Approver, ApproverType
from interlock.core.freezes import FreezeKind, Frozen
from interlock.core.grants import GrantScope
from interlock.core.lifecycle import CallState
from interlock.core.safety import SafetyClass
from interlock.store.protocol import Activity, ActivityType, Token, new_id
from tests.approving import BOSS, DELETE, Counter, counter, held_config, said, text_of, wanted
from tests.running import config_of, end_token, serving
from tests.stores import run_elsewhere
from tests.upstream.running import list_other_tools
from tests.upstream.tools import TOOLS

RAN = "No such note."
SHORT = "hold: {answer_after: 100ms}"


@pytest.fixture
async def short(tmp_path: Path) -> AsyncGenerator[Counter]:
    async with counter(tmp_path, SHORT) as made:
        yield made


async def pending(held: Counter, token: str | None = None) -> str:
    """The approval of a call that was told to come again."""
    async with held.client(token=token) as client:
        return str(said(await client.call_tool(DELETE, wanted()))["approval_id"])


# Once -----------------------------------------------------------------------------------------------------------


async def test_a_hundred_repeats_of_one_approved_call_run_once(short: Counter) -> None:
    approval_id = await pending(short)
    await short.approve(approval_id)
    async with short.client() as client:
        results = await asyncio.gather(*(client.call_tool(DELETE, wanted()) for _ in range(100)))

    ran = [each for each in results if text_of(each) == RAN]
    others = {said(each)["approval_id"] for each in results if text_of(each) != RAN}
    assert (len(ran), short.sends()) == (1, 1)
    assert len(others) == 1, "the others asked again, together"


async def test_a_hundred_repeats_with_the_id_all_get_the_one_outcome(short: Counter) -> None:
    approval_id = await pending(short)
    await short.approve(approval_id)
    async with short.client() as client:
        call = wanted(_approval_id=approval_id)
        results = await asyncio.gather(*(client.call_tool(DELETE, call) for _ in range(100)))

    assert {text_of(each) for each in results} == {RAN}
    assert short.sends() == 1


async def test_all_who_wait_for_one_approval_get_the_one_outcome(tmp_path: Path) -> None:
    async with counter(tmp_path) as held, held.client() as client, asyncio.TaskGroup() as group:
        calls = [group.create_task(client.call_tool(DELETE, wanted())) for _ in range(10)]
        while sum(each.callers for each in held.board) < 10:  # noqa: ASYNC110 - they come over the wire
            await asyncio.sleep(0.005)
        waiting = await held.one()
        await held.approve(waiting.id, scope=GrantScope.IDENTICAL)
        results = [await each for each in calls]

    assert {text_of(each) for each in results} == {RAN}
    assert held.sends() == 1, "however wide the grant is, what was waited for together runs once"


async def test_a_call_whose_grant_was_revoked_elsewhere_asks_again_and_is_given_no_earlier_outcome(
    short: Counter,
) -> None:
    approval_id, gateway = await pending(short), short.running.gateway
    await short.approve(approval_id, scope=GrantScope.IDENTICAL)
    async with short.client() as client:
        ran = await client.call_tool(DELETE, wanted())
        (grant,), now = short.board.grants(), gateway.parts.clock.now()
        why = Activity(new_id(now), now, ActivityType.APPROVAL, CallState.SUCCESS, {})
        await gateway.store.approvals.revoke_grant(grant.id, now, why)  # as another gateway does it
        after = await client.call_tool(DELETE, wanted())

    assert text_of(ran) == RAN
    assert said(after)["status"] == "pending"
    assert said(after)["approval_id"] != approval_id
    assert short.sends() == 1


async def test_more_than_so_many_who_wait_for_one_approval_are_told_to_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.approve.desk.MAX_TOGETHER", 3)
    async with counter(tmp_path) as held, held.client() as client, asyncio.TaskGroup() as group:
        calls = [group.create_task(client.call_tool(DELETE, wanted())) for _ in range(5)]
        done = others = set[asyncio.Task[types.CallToolResult]]()
        while len(done) < 2:
            done, others = await asyncio.wait(calls, timeout=0.01)
        await held.approve((await held.one()).id)
        ran = [await each for each in others]

    assert {said(each.result())["status"] for each in done} == {"pending"}
    assert ({text_of(each) for each in ran}, held.sends()) == ({RAN}, 1)


async def test_a_lost_answer_is_had_again_by_the_id(short: Counter) -> None:
    approval_id = await pending(short)
    await short.approve(approval_id)
    async with short.client() as client:
        await client.call_tool(DELETE, wanted())
    async with short.client() as another:
        again = await another.call_tool(DELETE, wanted(_approval_id=approval_id))
        other = await another.call_tool(DELETE, wanted("b", _approval_id=approval_id))

    (call,) = await short.history(ActivityType.TOOL_CALL)
    assert (text_of(again), again.is_error, short.sends()) == (RAN, False, 1)
    assert again.meta is not None
    assert again.meta["interlock/recorded"] == {
        "activity_id": call.id,
        "approval_id": approval_id,
        "status": "success",
    }
    assert said(other)["code"] == "STALE_APPROVAL"


async def test_the_outcome_of_a_call_that_left_without_one_is_not_known(short: Counter) -> None:
    approval_id = await pending(short)
    await short.approve(approval_id)
    async with short.client() as client:
        await client.call_tool(DELETE, wanted())
        (call,) = await short.history(ActivityType.TOOL_CALL)
        await short.running.gateway.store.write([replace(call, status=CallState.INDETERMINATE)])
        again = await client.call_tool(DELETE, wanted(_approval_id=approval_id))

    assert (said(again)["code"], short.sends()) == ("INDETERMINATE", 1)


async def test_the_approval_of_somebody_else_is_none(short: Counter) -> None:
    approval_id = await pending(short, await short.token("worker"))
    await short.approve(approval_id)
    async with short.client(token=await short.token("thief")) as client:
        stolen = await client.call_tool(DELETE, wanted(_approval_id=approval_id))
        peeked = await client.call_tool("interlock__await_approval", {"approval_id": approval_id})
        asked = await client.call_tool(DELETE, wanted())

    assert [said(each)["code"] for each in (stolen, peeked)] == ["NOT_FOUND", "NOT_FOUND"]
    assert said(asked)["status"] == "pending"
    assert short.sends() == 0


# Each single change ---------------------------------------------------------------------------------------------

RULES = "route_rules: [{{id: gone, tool_pattern: 'up__delete_*', effect: hold, priority: {priority}}}]"
BASE = f"{RULES.format(priority=1)}\nworkspaces: [{{id: here}}, {{id: there}}]\ndefault_workspace: here"

Happen = Callable[[Counter], Awaitable[None]]


def written(text: str) -> Happen:
    """The configuration file is edited."""

    async def happen(held: Counter) -> None:
        roster = held.running.gateway.parts.roster
        assert isinstance(roster, Roster)
        await roster.take_up(config_of(held.folder, held_config(held.folder, text)))

    return happen


def token(expires_at: int | None = None, **scope: Any) -> Happen:
    """The token of the caller becomes one that reaches less far."""

    async def happen(held: Counter) -> None:
        gateway, known = held.running.gateway, await worker_token(held)
        lesser = json.dumps({**known.scope, **scope})
        over = "NULL" if expires_at is None else str(expires_at)
        change = f"UPDATE token SET scope = '{lesser}', expires_at = {over} WHERE id = '{known.id}'"  # noqa: S608
        run_elsewhere(held.running.folder.path, change)
        await gateway.callers.read(gateway.store.list_tokens)

    return happen


async def worker_token(held: Counter) -> Token:
    (found,) = [each for each in await held.running.gateway.store.list_tokens() if each.principal == "worker"]
    return found


async def revoke(held: Counter) -> None:
    await end_token(held.running.gateway, await worker_token(held))


async def disable(held: Counter) -> None:
    await held.running.gateway.parts.roster.switch("up", False, "operator")


async def reclassify(held: Counter) -> None:
    await held.running.gateway.parts.drift.override("up", "delete_note", SafetyClass.SUBPROCESS, "operator")


async def redefine(held: Counter) -> None:
    changed = [
        {**each, "description": "Delete all of them."} if each["name"] == "delete_note" else each for each in TOOLS
    ]
    list_other_tools(held.log, held.folder / "tools", changed)
    async with asyncio.timeout(20):
        while [dict(each.descriptor) for each in held.running.gateway.pipeline.book] != changed:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)


async def redefine_and_trust(held: Counter) -> None:
    await redefine(held)
    await held.running.gateway.parts.drift.trust("up", None, "operator")


def is_open(text: str) -> str:
    return f"posture: {text}\nworkspaces: [{{id: here}}, {{id: there}}]\ndefault_workspace: here"


CHANGES: dict[str, tuple[Happen, str]] = {
    "the rule is edited": (written(BASE.replace("priority: 1", "priority: 2")), "STALE_APPROVAL"),
    "the rule is deleted": (written(is_open("guarded")), "STALE_APPROVAL"),
    "the rule is deleted and all is open": (written(is_open("open")), "STALE_APPROVAL"),
    "the rule denies": (written(BASE.replace("effect: hold", "effect: deny")), "DENIED_BY_RULE"),
    "the workspace changed": (
        written(BASE.replace("default_workspace: here", "default_workspace: there")),
        "STALE_APPROVAL",
    ),
    "the definition changed": (redefine, "QUARANTINED"),
    "the definition changed and was trusted": (redefine_and_trust, "STALE_APPROVAL"),
    "the class was overridden": (reclassify, "STALE_APPROVAL"),
    "the server is disabled": (disable, "UNKNOWN_TOOL"),
    "the token is revoked": (revoke, "UNAUTHENTICATED"),
    "the token has expired": (token(expires_at=1), "UNAUTHENTICATED"),
    "the token reaches less far": (token(tools=["read_*"]), "UNKNOWN_TOOL"),
    "the token's ceiling is lower": (token(ceiling="read"), "CEILING"),
    "the token is of another workspace": (token(workspace="there"), "STALE_APPROVAL"),
}


@pytest.mark.parametrize("what", CHANGES)
async def test_a_change_while_it_waits_makes_the_approval_void(tmp_path: Path, what: str) -> None:
    happen, code = CHANGES[what]
    async with counter(tmp_path, BASE) as held:
        worker = await held.token("worker")
        async with held.client(token=worker) as client, asyncio.TaskGroup() as group:
            calling = group.create_task(client.call_tool(DELETE, wanted()))
            waiting = await held.one()
            await happen(held)
            await held.approve(waiting.id)
            result = await calling

    assert (result.is_error, said(result)["code"]) == (True, code)
    assert held.sends() == 0


REPEATABLE = {what for what, (_, code) in CHANGES.items() if code == "STALE_APPROVAL"}


@pytest.mark.parametrize("what", sorted(REPEATABLE))
async def test_a_change_before_it_is_brought_again_makes_the_approval_void(tmp_path: Path, what: str) -> None:
    happen, code = CHANGES[what]
    async with counter(tmp_path, f"{BASE}\n{SHORT}") as held:
        worker = await held.token("worker")
        approval_id = await pending(held, worker)
        await held.approve(approval_id)
        await happen(held)
        async with held.client(token=worker) as client:
            result = await client.call_tool(DELETE, wanted(_approval_id=approval_id))

    assert (said(result)["code"], held.sends()) == (code, 0)


async def test_an_approval_is_not_good_for_ever(tmp_path: Path) -> None:
    async with counter(tmp_path, "hold: {answer_after: 100ms, use_within: 1s}") as held:
        approval_id = await pending(held)
        await held.approve(approval_id)
        (grant,) = held.board.grants()
        while held.running.gateway.parts.clock.now() < grant.expires_at:  # noqa: ASYNC110 - time has to pass
            await asyncio.sleep(0.05)
        async with held.client() as client:
            named = await client.call_tool(DELETE, wanted(_approval_id=approval_id))
            plain = await client.call_tool(DELETE, wanted())

    assert (said(named)["code"], said(plain)["status"], held.sends()) == ("STALE_APPROVAL", "pending", 0)


async def test_an_approver_whose_role_was_revoked_cannot_answer_and_its_word_is_void(tmp_path: Path) -> None:
    async with counter(tmp_path, SHORT) as held:
        given, _ = await held.minted("boss", "approver")
        approval_id = await pending(held)
        await held.approve(approval_id, Approver("boss", ApproverType.CLI))
        await end_token(held.running.gateway, given)
        async with held.client() as client:
            named = await client.call_tool(DELETE, wanted(_approval_id=approval_id))
            plain = await client.call_tool(DELETE, wanted())

    assert (said(named)["code"], said(plain)["status"], held.sends()) == ("STALE_APPROVAL", "pending", 0)


async def test_the_vote_of_an_approver_whose_role_was_revoked_does_not_count(tmp_path: Path) -> None:
    async with counter(tmp_path, "hold: {answer_after: 100ms, approvals_needed: 2}") as held:
        given, _ = await held.minted("boss", "approver")
        approval_id = await pending(held)
        first = await held.approve(approval_id, Approver("boss", ApproverType.CLI))
        await end_token(held.running.gateway, given)
        second = await held.approve(approval_id)

    assert (first.status, len(first.votes)) == ("pending", 1)
    assert (second.status, [each.approver for each in second.votes]) == ("pending", ["operator"])


async def test_a_call_that_is_stopped_between_its_record_and_its_first_byte_has_not_used_its_approval_up(
    short: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway, up = short.running.gateway, Frozen(FreezeKind.SERVER, "up")
    freezer, use = gateway.parts.room.freezer, gateway.store.approvals.use_grant

    async def use_and_stop(grant: str, call: Activity) -> bool:
        used = await use(grant, call)
        await freezer.freeze(up, "operator", "fire drill")
        return used

    approval_id = await pending(short)
    await short.approve(approval_id)
    again = wanted(_approval_id=approval_id)
    async with short.client() as client:
        for _ in range(2):
            monkeypatch.setattr(gateway.store.approvals, "use_grant", use_and_stop)
            stopped = await client.call_tool(DELETE, again)
            monkeypatch.undo()
            await freezer.thaw(up, "operator")
            assert (said(stopped)["code"], short.sends()) == ("FROZEN", 0)
        ran, repeated = [await client.call_tool(DELETE, again) for _ in range(2)]
    grant = await gateway.store.approvals.get_grant(approval_id)

    assert (text_of(ran), text_of(repeated), short.sends()) == (RAN, RAN, 1)
    assert grant is not None
    assert (grant.uses_left, grant.uses) == (0, 1)


async def test_a_freeze_uses_no_approval_up_and_after_it_the_call_runs(tmp_path: Path) -> None:
    async with counter(tmp_path, SHORT) as held:
        freezer, up = held.running.gateway.parts.room.freezer, Frozen(FreezeKind.SERVER, "up")
        approval_id = await pending(held)
        await freezer.freeze(up, "operator", "fire drill")
        await held.approve(approval_id)
        async with held.client() as client:
            frozen = await client.call_tool(DELETE, wanted())
            before = held.sends()
            await freezer.thaw(up, "operator")
            ran = await client.call_tool(DELETE, wanted())

    assert said(frozen)["message"] == "Calls are frozen: server 'up' (fire drill)."
    assert (before, text_of(ran), held.sends()) == (0, RAN, 1)


async def test_a_freeze_stops_what_still_waits_for_its_turn_at_the_server(tmp_path: Path) -> None:
    text = held_config(tmp_path, "posture: open").replace("{command", "{max_concurrent: 1, command", 1)
    async with serving(tmp_path, text) as running, asyncio.TaskGroup() as group:
        held = Counter(running, tmp_path / "up.log", tmp_path)
        async with held.client() as client:
            busy = group.create_task(client.call_tool("up__slow", {"seconds": 0.5}))
            while held.sends() == 0:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.005)
            queued = group.create_task(client.call_tool(DELETE, wanted()))
            while len(await held.history(ActivityType.TOOL_CALL)) < 2:  # noqa: ASYNC110 - it comes over the wire
                await asyncio.sleep(0.005)
            await running.gateway.parts.room.freezer.freeze(Frozen(FreezeKind.ALL), "operator", "")
            await busy
            stopped = await queued

    assert (said(stopped)["code"], held.sends()) == ("FROZEN", 1)


# Wider grants ---------------------------------------------------------------------------------------------------


async def test_a_wider_grant_covers_what_it_says_and_ends_when_it_is_revoked(tmp_path: Path) -> None:
    rule = "route_rules: [{id: writes, tool_pattern: up__write_note, effect: hold}]"
    async with counter(tmp_path, f"{rule}\n{SHORT}") as held, held.client() as client:

        async def write(name: str) -> types.CallToolResult:
            return await client.call_tool("up__write_note", {"name": name, "text": "x", "_justification": "y"})

        async def granted(name: str, scope: GrantScope) -> str:
            approval_id = str(said(await write(name))["approval_id"])
            await held.approve(approval_id, scope=scope, seconds=60)
            return f"gr_{approval_id.removeprefix('ap_')}"

        identical = await granted("a", GrantScope.IDENTICAL)
        same, other = [await write("a") for _ in range(3)], await write("b")
        await held.running.gateway.parts.room.register.revoke(identical, "operator")
        after = await write("a")
        await granted("c", GrantScope.TOOL)
        any_name = [await write(each) for each in ("c", "d", "e")]

    assert [each.is_error for each in same] == [False] * 3
    assert said(other)["status"] == said(after)["status"] == "pending"
    assert ["approval_id" not in (each.structured_content or {}) for each in any_name] == [True] * 3
    assert held.sends() == 6


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"scope": GrantScope.TOOL}, "a tool that is dangerous is approved call by call"),
        ({"scope": GrantScope.IDENTICAL, "seconds": 901}, "it may last for 1 to 900 seconds"),
        ({"scope": GrantScope.ONCE, "seconds": 5}, "a duration goes with the scopes identical and tool only"),
    ],
)
async def test_a_grant_is_never_wider_than_the_rule_lets_it_be(short: Counter, wish: dict[str, Any], why: str) -> None:
    approval_id = await pending(short)
    with pytest.raises(Refused, match=why):
        await short.approve(approval_id, **wish)

    assert (await short.approval(approval_id)).status == "pending"


async def test_a_rule_may_let_nothing_but_this_call_pass(tmp_path: Path) -> None:
    async with counter(tmp_path, "hold: {answer_after: 100ms, max_grant: 0}") as held:
        approval_id = await pending(held)
        with pytest.raises(Refused, match="only this one call may be approved"):
            await held.approve(approval_id, BOSS, scope=GrantScope.IDENTICAL)


async def test_an_approval_given_to_another_digest_is_refused(short: Counter) -> None:
    approval_id = await pending(short)
    with pytest.raises(Refused, match="not those that you looked at"):
        await short.running.gateway.parts.room.approvers.approve(approval_id, BOSS, digest="another")

    assert (await short.approval(approval_id)).status == "pending"
