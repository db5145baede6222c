"""Activities, and logs that are full of them: written by the store's own writer and sealed, so that the chain holds."""

import asyncio
import itertools
from collections.abc import Iterable
from pathlib import Path

from interlock.clock import SystemClock
from interlock.core.lifecycle import CallState
from interlock.store.audit.anchor import ANCHOR, Anchor
from interlock.store.audit.sealer import RECORDS as STRETCH
from interlock.store.audit.sealer import Sealer
from interlock.store.folder import DATABASE
from interlock.store.protocol import Activity, ActivityType
from interlock.store.sqlite import SqliteStore

LONG_AGO = 1_700_000_000_000_000
BODY = {
    "reasons": [{"code": None, "text": "Rule 'issues' lets write_capable tools of github pass."}],
    "metadata": {"tool_variant": "call_tool_write", "intent": {"operation_type": "write", "reason": "as asked"}},
    "arguments": {"repo": "acme/site", "title": "A title", "body": "Some words about what is wrong. " * 8},
    "digest": "0" * 64,
}


def activity(number: int) -> Activity:
    """Every call is written twice, as it is in real life: before it is sent and when it is done."""
    call, done = divmod(number, 2)
    return Activity(
        id=f"{call:030x}",
        at=LONG_AGO + call,
        type=ActivityType.TOOL_CALL,
        status=CallState.SUCCESS if done else CallState.SENT,
        body=BODY,
        server=f"server-{call % 7}",
        tool=f"tool-{call % 90}",
        caller=f"caller-{call % 13}",
        session_id=f"session-{call % 400}",
        intent_type="write",
        safety_class="write_capable",
        verdict="allow",
        rule_id="issues",
    )


async def _write(folder: Path, activities: Iterable[Activity]) -> None:
    clock = SystemClock()
    store = SqliteStore(folder / DATABASE, clock)
    sealer = Sealer(store, folder, Anchor(folder / ANCHOR), clock)
    await store.start()
    left = iter(activities)
    while stretch := list(itertools.islice(left, STRETCH)):
        await store.write(stretch)
        await sealer.checkpoint()
    await store.close()


def fill(folder: Path, activities: Iterable[Activity]) -> None:
    """A data folder with these on record, and a seal on every so many as a gateway would set."""
    folder.mkdir(mode=0o700, exist_ok=True)
    asyncio.run(_write(folder, activities))
