"""What REST shows of notices."""

import asyncio

from interlock.approve.notices import Notice, Webhook
from tests.approve.receiving import OK, SECONDS, receiver, shown, url_of
from tests.web.office import NOW, Office


async def test_where_nobody_is_told_that_is_said(bare: Office) -> None:
    assert await bare.get("/notices", "auditor") == {"configured": False, "problems": [], "deliveries": []}


async def test_deliveries_are_shown_with_their_target_and_nothing_more_of_its_address(bare: Office) -> None:
    notices = bare.parts.notices
    async with asyncio.timeout(SECONDS), receiver(OK) as server:
        notices.configure([Webhook(url_of(server), "hunter3-hunter3")], None)
        async with notices.running():
            notices.tell(Notice("approval.created", NOW, {"id": "apr-1", "tool_name": "a__b"}))
        answer = await bare.get("/notices", "approver")

    assert answer["configured"]
    assert answer["deliveries"] == [
        {
            "at": "2026-09-21T14:13:20.000000Z",
            "event": "approval.created",
            "approval_id": "apr-1",
            "target": shown(server),
            "attempt": 1,
            "status": "delivered",
            "detail": "204",
        }
    ]
    assert not [each for each in ("swordfish", "hunter") if each in str(answer)]


async def test_a_target_that_fails_again_and_again_is_a_problem_with_its_fix(bare: Office) -> None:
    notices = bare.parts.notices
    notices.configure([], ("sh", "-c", "echo no route >&2; exit 1"))
    async with asyncio.timeout(SECONDS), notices.running():
        for _ in range(3):
            notices.tell(Notice("approval.created", NOW, {"id": "apr-1"}))
    answer = await bare.get("/notices")

    assert [each["status"] for each in answer["deliveries"]] == ["failed"] * 3
    assert answer["problems"][0]["text"] == "notices.command has failed 3 times in a row: exit 1: no route."
    assert answer["problems"][0]["fix"]
