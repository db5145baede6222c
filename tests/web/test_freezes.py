"""The emergency stop over REST."""

from typing import Any

import pytest

from interlock.core.freezes import FreezeKind, Frozen
from interlock.store.protocol import ActivityFilter, ActivityType
from interlock.web.times import iso
from tests.web.office import NOW, Office
from tests.web.questions import held

READ = "/tools/up/read_note/call"


async def post(office: Office, path: str, role: str = "admin", **body: Any) -> Any:
    return await office.ask("POST", path, role, json=body)


async def called(office: Office, path: str = READ) -> tuple[int, str | None]:
    answer = await office.ask("POST", path, json={})
    return answer.status_code, answer.json().get("code")


def in_force(office: Office) -> set[str]:
    return {each.shown for each in office.parts.room.freezer.in_force}


@pytest.mark.parametrize("role", ["admin", "approver"])
@pytest.mark.parametrize("body", [{}, {"json": {}}, {"json": {"reason": "fire"}}])
async def test_everything_is_stopped_by_either_role_in_one_request(
    live: Office, role: str, body: dict[str, Any]
) -> None:
    stopped = await live.ask("POST", "/freeze", role, **body)

    assert stopped.status_code == 200
    assert stopped.json() == {
        "kind": "all",
        "server": None,
        "caller": None,
        "at": iso(NOW),
        "by": f"the-{role}",
        "reason": body.get("json", {}).get("reason", ""),
    }
    assert await called(live) == (423, "FROZEN")
    assert live.sends() == 0


async def test_one_server_is_stopped_by_its_id_or_namespace_and_the_others_go_on(live: Office) -> None:
    stopped = await post(live, "/freeze", server="upper")

    assert (stopped.json()["kind"], stopped.json()["server"]) == ("server", "up")
    assert await called(live) == (423, "FROZEN")
    assert await called(live, "/tools/odd/read_failed/call") == (200, None)


async def test_one_caller_is_stopped_and_the_others_go_on(live: Office) -> None:
    other = await live.issue("robot", "agent", "admin", kind="agent")
    await post(live, "/freeze", caller="operator-agent")

    assert await called(live) == (423, "FROZEN")
    assert (await live.ask_with(other, "POST", READ, json={})).status_code == 200


@pytest.mark.parametrize("name", ["local", "operator-agent", "the-admin", "gone", "jwt:alice@example.org"])
async def test_any_principal_can_be_stopped_and_so_can_our_own(bare: Office, name: str) -> None:
    token = await bare.issue("gone", "agent")
    await bare.ask("DELETE", f"/tokens/{token.split('_')[1]}")
    stopped = await post(bare, "/freeze", caller=name)

    assert (stopped.status_code, stopped.json()["caller"]) == (200, name)


async def test_what_is_stopped_is_listed_in_the_order_in_which_it_was(live: Office) -> None:
    await post(live, "/freeze", server="up", reason="it lies")
    live.clock.forward(1_000_000)
    await post(live, "/freeze", "approver", caller="local")
    found = await live.get("/freezes", "auditor")

    assert found["total"] == 2
    assert found["items"][0] == {
        "kind": "server",
        "server": "up",
        "caller": None,
        "at": iso(NOW),
        "by": "the-admin",
        "reason": "it lies",
    }
    assert [(each["kind"], each["caller"], each["by"]) for each in found["items"]][1] == (
        "caller",
        "local",
        "the-approver",
    )


async def test_each_stop_is_lifted_by_itself(live: Office) -> None:
    await post(live, "/freeze", server="up")
    await post(live, "/freeze")
    thawed = await post(live, "/thaw")
    still = await called(live)
    await post(live, "/thaw", server="upper")

    assert (thawed.status_code, thawed.json()["kind"], still) == (200, "all", (423, "FROZEN"))
    assert await called(live) == (200, None)


async def test_an_approver_does_not_thaw(bare: Office) -> None:
    await post(bare, "/freeze", "approver")
    refused = await post(bare, "/thaw", "approver")

    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
    assert in_force(bare) == {"everything"}


async def test_a_server_that_is_gone_can_still_be_thawed(bare: Office) -> None:
    await bare.parts.room.freezer.freeze(Frozen(FreezeKind.SERVER, "gone"), "the-admin", "")
    thawed = await post(bare, "/thaw", server="gone")

    assert (thawed.status_code, in_force(bare)) == (200, set())


async def test_an_approved_call_does_not_run_while_it_is_stopped_and_runs_after(live: Office) -> None:
    token = await live.token("admin")
    async with held(live, token) as waiting:
        await post(live, "/freeze")
        await live.ask("POST", f"/approvals/{waiting.id}/approve", "approver")
        refused = await waiting.answer()
    grants = (await live.get("/grants"))["items"]
    await post(live, "/thaw")
    body = {"arguments": {"id": "7", "_justification": "to tidy up", "_approval_id": waiting.id}}
    ran = await live.ask_with(token, "POST", "/tools/up/delete_note/call", json=body)

    assert (refused.status_code, refused.json()["code"]) == (423, "FROZEN")
    assert [each["uses_left"] for each in grants] == [1]
    assert (ran.status_code, live.sends()) == (200, 1)


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        ("/freeze", {"server": "upp"}, 404, "Server 'upp' not found. Did you mean 'up'?"),
        ("/freeze", {"server": "zzz"}, 404, "Server 'zzz' not found."),
        (
            "/freeze",
            {"caller": "operator-agnet"},
            404,
            "Caller 'operator-agnet' not found. Did you mean 'operator-agent'?",
        ),
        ("/freeze", {"caller": "zzz"}, 404, "Caller 'zzz' not found."),
        ("/freeze", {"server": "up", "caller": "local"}, 400, "server: give server or caller, not both"),
        ("/freeze", {"server": ""}, 400, "server: "),
        ("/freeze", {"caller": 7}, 400, "caller: "),
        ("/freeze", {"reason": "x" * 1001}, 400, "reason: "),
        ("/freeze", {"tool": "up:echo"}, 400, "tool: it is not known here; known are server, caller, reason"),
        ("/thaw", {"server": "up", "caller": "local"}, 400, "server: give server or caller, not both"),
        ("/thaw", {"reason": "x"}, 400, "reason: it is not known here; known are server, caller"),
        ("/thaw", {}, 404, "Nothing to thaw: there is no freeze of everything."),
        ("/thaw", {"server": "up"}, 404, "Nothing to thaw: there is no freeze of server 'up'."),
        ("/thaw", {"server": "od"}, 404, "Nothing to thaw: there is no freeze of server 'od'. Did you mean 'odd'?"),
    ],
)
async def test_what_makes_no_sense_is_refused_and_changes_nothing(
    live: Office, path: str, body: Any, status: int, detail: str
) -> None:
    await post(live, "/freeze", server="odd")
    refused = await live.ask("POST", path, json=body)

    assert (refused.status_code, refused.json()["detail"][: len(detail)]) == (status, detail)
    assert in_force(live) == {"server 'odd'"}


async def test_stops_are_on_record_with_who_ordered_them_and_outlive_a_restart(bare: Office) -> None:
    await post(bare, "/freeze", "approver", reason="fire, see password=swordfish-and-more")
    page = await bare.store.list_activities(ActivityFilter(types=(ActivityType.SYSTEM,), caller="the-approver"))

    assert [(each.body["change"], each.body["what"]) for each in page.items] == [("frozen", "everything")]
    assert "swordfish" not in (await bare.ask("GET", "/freezes")).text
    assert set(await bare.store.approvals.freezes()) == {Frozen(FreezeKind.ALL)}


async def test_a_stop_that_cannot_be_kept_counts_all_the_same_and_says_so(bare: Office) -> None:
    await bare.token("admin")
    await bare.store.close()
    told = await post(bare, "/freeze", reason="fire")

    assert (told.status_code, told.json()["code"]) == (503, "AUDIT_UNAVAILABLE")
    assert told.json()["detail"] == (
        "Frozen: everything. But it could not be written down yet: until then a restart lifts it, and other gateways"
        " go on."
    )
    assert in_force(bare) == {"everything"}
