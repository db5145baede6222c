"""Questions for approvers: put to the register as the desk would, or by a call that really waits."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import httpx2

from interlock.core.approvals import Approval
from interlock.core.grants import GrantKey
from interlock.core.lifecycle import ApprovalState
from interlock.core.model import HoldTerms
from interlock.store.approvals import ApprovalFilter
from tests.web.office import NOW, Office

SECONDS = 20
"""After which a test that waits for a question has failed."""
MINUTE = 60_000_000
DELETE = "/tools/up/delete_note/call"
REASON = {"arguments": {"id": "7", "_justification": "to tidy up"}}


def question(number: int = 1, *, requester: str = "ci", terms: HoldTerms | None = None, **columns: Any) -> Approval:
    """A question that was asked `number` seconds after the beginning."""
    wanted = terms or HoldTerms()
    at = NOW + number * 1_000_000
    key: dict[str, Any] = {"workspace": "ws-default", "safety_class": "subprocess"}
    key |= {name: columns.pop(name) for name in ("workspace", "safety_class") if name in columns}
    tool = columns.pop("tool", "run_it")
    asked: dict[str, Any] = {
        "arguments": {"n": number},
        "justification": "why not",
        "reasons": [{"code": None, "text": "it is held"}],
    }
    asked |= columns.pop("asked", {})
    times: dict[str, Any] = {"created_at": at, "expires_at": at + wanted.approval_timeout * 1_000_000}
    return Approval(
        id=f"ap_{number:04}",
        key=GrantKey(requester, "up", tool, "f" * 64, f"{number:064x}", "r" * 64, **key),
        tool_name=f"upper__{tool}",
        rule_id="posture:guarded",
        terms=wanted,
        gateway="gw_test",
        asked=asked,
        **(times | columns),
    )


async def ask(office: Office, number: int = 1, **columns: Any) -> Approval:
    """Put a question to the approvers."""
    approval = question(number, **columns)
    await office.parts.room.register.add(approval)
    return approval


@contextlib.asynccontextmanager
async def held(office: Office, token: str, path: str = DELETE, body: Any = None) -> AsyncGenerator["Waiting"]:
    """A call of whoever has this token, through REST, that waits until it is answered."""
    async with asyncio.TaskGroup() as group:
        headers = {"Authorization": f"Bearer {token}"}
        call = office.http.post(f"/api/v1{path}", headers=headers, json=body or REASON)
        running = group.create_task(call)
        waiting = Waiting(running, await _pending(office, running))
        yield waiting
        if not running.done():
            await office.ask("POST", f"/approvals/{waiting.id}/deny", "approver")


class Waiting:
    """A call that waits, and the id of its approval."""

    def __init__(self, running: asyncio.Task[httpx2.Response], approval_id: str) -> None:
        self._running = running
        self.id = approval_id

    async def answer(self) -> httpx2.Response:
        async with asyncio.timeout(SECONDS):
            return await asyncio.shield(self._running)


async def _pending(office: Office, running: asyncio.Task[httpx2.Response]) -> str:
    async with asyncio.timeout(SECONDS):
        while True:
            page = await office.store.approvals.list_approvals(ApprovalFilter(ApprovalState.PENDING))
            if page.items:
                return page.items[0].id
            assert not running.done(), running.result().text
            await asyncio.sleep(0)
