"""Who hears of approvals, and that it is said aloud when nobody does."""

import asyncio
import json
import logging
import sys
from pathlib import Path

import pytest

from interlock import errors
from interlock.core.lifecycle import ApprovalEvent
from interlock.core.model import HoldTerms
from tests.web.listening import listening
from tests.web.office import Office
from tests.web.questions import MINUTE, ask

READS = "an approver reads the event stream"
WAS_HERE = "an approver was here a short while ago"
NOTICES = "notices are configured"
WARNING = f"{errors.NOBODY_LISTENS().text} {errors.NOBODY_LISTENS().fix}"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "interlock"]


async def test_at_the_beginning_nobody_listens(bare: Office) -> None:
    assert bare.parts.listening() == []


@pytest.mark.parametrize(
    ("role", "path", "query", "heard"),
    [
        ("approver", "/approvals/stream", "", [READS]),
        ("approver", "/events", "", [READS]),
        ("approver", "/events", "types=activity", []),
        ("auditor", "/approvals/stream", "", []),
        ("admin", "/events", "", []),
    ],
)
async def test_whoever_reads_of_approvals_and_may_answer_listens(
    bare: Office, role: str, path: str, query: str, heard: list[str]
) -> None:
    async with listening(bare, query, role=role, path=path):
        during = bare.parts.listening()

    assert (during, bare.parts.listening()) == (heard, [])


@pytest.mark.parametrize("path", ["/approvals", "/approvals/ap_0001"])
@pytest.mark.parametrize(("role", "heard"), [("approver", [WAS_HERE]), ("auditor", []), ("admin", [])])
async def test_an_approver_that_looked_listens_for_a_while(
    bare: Office, path: str, role: str, heard: list[str]
) -> None:
    await ask(bare)
    await bare.ask("GET", path, role)
    now = bare.parts.listening()
    bare.clock.forward(10 * MINUTE - 1)
    still = bare.parts.listening()
    bare.clock.forward(1)

    assert (now, still, bare.parts.listening()) == (heard, heard, [])


async def test_an_approver_that_answered_by_any_door_listens_for_a_while(bare: Office) -> None:
    for number, how in ((1, "approve"), (2, "deny")):
        bare.clock.forward(10 * MINUTE)
        at = bare.clock.now()
        terms = HoldTerms(approvals_needed=2)
        await ask(bare, number, terms=terms, created_at=at, expires_at=at + MINUTE)
        before = bare.parts.listening()
        await bare.ask("POST", f"/approvals/ap_{number:04}/{how}", "approver")

        assert (before, bare.parts.listening()) == ([], [WAS_HERE])


async def test_what_the_system_ended_makes_nobody_listen(bare: Office) -> None:
    approval = await ask(bare)
    await bare.parts.room.register.end(approval, ApprovalEvent.CANCEL, "client disconnected")

    assert bare.parts.listening() == []


async def test_notices_count_as_listening(bare: Office) -> None:
    bare.parts.notices.configure((), ("true",))

    assert bare.parts.listening() == [NOTICES]


async def test_a_question_that_nobody_hears_is_said_aloud_at_most_once_a_minute(
    bare: Office, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "interlock"):
        for number in range(1, 4):
            await ask(bare, number)
        first = warnings(caplog)
        bare.clock.forward(MINUTE)
        await ask(bare, 4)

    assert (first, warnings(caplog)) == ([WARNING], [WARNING] * 2)
    assert "`interlock approval watch`" in WARNING


async def test_while_somebody_listens_nothing_is_said(bare: Office, caplog: pytest.LogCaptureFixture) -> None:
    await bare.ask("GET", "/approvals", "approver")
    with caplog.at_level(logging.WARNING, "interlock"):
        await ask(bare)

    assert warnings(caplog) == []


async def test_an_answer_is_no_question(bare: Office, caplog: pytest.LogCaptureFixture) -> None:
    await ask(bare)
    bare.clock.forward(2 * MINUTE)
    caplog.clear()
    with caplog.at_level(logging.WARNING, "interlock"):
        await bare.parts.room.register.end_all(["ap_0001"], ApprovalEvent.CANCEL, "client disconnected")

    assert warnings(caplog) == []


async def test_notices_tell_of_questions_and_ends_and_not_of_votes(bare: Office, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    program = f"import sys, pathlib; b = sys.stdin.read(); pathlib.Path({str(kept)!r}, str(hash(b))).write_text(b)"
    notices = bare.parts.notices
    notices.configure((), (sys.executable, "-c", program))
    async with notices.running():
        await ask(bare, terms=HoldTerms(approvals_needed=2))
        await bare.ask("POST", "/approvals/ap_0001/approve", "approver")
        await bare.ask_with(await bare.issue("bob", "approver"), "POST", "/approvals/ap_0001/approve")
        async with asyncio.timeout(20):
            while len(notices.deliveries()) < 2:  # noqa: ASYNC110 - they are delivered by processes, in their own time
                await asyncio.sleep(0.01)

    told = {each["type"]: each["data"] for each in (json.loads(file.read_text()) for file in kept.iterdir())}
    assert set(told) == {"approval.created", "approval.approved"}
    assert told["approval.approved"] == await bare.get("/approvals/ap_0001")
