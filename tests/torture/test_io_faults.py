"""The disk fails at the n-th thing that the store asks of it, for every n of one whole life of a gateway.

The gateway starts, tools are listed, a read, a write and a held call are made, somebody approves, a token is made and
revoked, and it all ends. Wherever the disk fails in between, once or until it is repaired, the gateway stays, refuses
with the words for it, sends nothing above read-only without a durable record, and works again at once.
"""

import asyncio
import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interlock import errors
from interlock.clock import SystemClock
from interlock.store.folder import DATABASE
from interlock.store.protocol import StoreUnavailable
from tests.asking import JSON, META, MODERN
from tests.behaviours.callers import OK, Doors, Told, told_over_rest
from tests.running import Running, serving
from tests.store.audit.logs import check
from tests.store.faults import WORDS, Faults, failing_disk
from tests.talking import NO_TLS
from tests.upstream.running import http_upstream, received

SOON = 20.0
RECOVERY_MICROS = 2_000_000
"""How long after the repair the next call may take."""
REFUSED = errors.AUDIT_UNAVAILABLE()
UNAVAILABLE: Told = (str(REFUSED.code), REFUSED.text)
UNKNOWN: Told = (str(errors.INDETERMINATE().code), errors.INDETERMINATE().text)
FULL = os.environ.get("HYPOTHESIS_PROFILE") == "torture"
STEP = 1 if FULL else 4
"""Of a disk that stays broken every fourth beginning is enough for each day: most of what follows is the same."""
LEAST = 40
"""So many things at least are asked of the store in one life."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def http() -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=SOON, verify=NO_TLS) as client:
        yield client


@dataclass
class Life:
    """What was called in one life of a gateway, and what came of it."""

    name: str
    doors: Doors
    faults: Faults
    told: dict[str, list[Told]] = field(default_factory=dict[str, list[Told]])

    async def step(self, mark: str, act: Callable[[], Awaitable[Told]]) -> None:
        """Do something; what was refused for want of a record is done once more, and then goes well unless the disk
        is still broken."""
        told = self.told[mark] = [await act()]
        if told[0][0] == UNAVAILABLE[0]:
            told.append(await act())

    async def steps(self) -> None:
        """Everything that somebody does with a gateway."""
        await self.step("list", self._list)
        await self.step("read", lambda: self.doors.modern("read_note", {"name": f"{self.name}-read"}))
        await self.step("write", lambda: self.write("write"))
        await self.step("held", self._held)
        await self.step("token", self._token)
        await self.step("checkpoint", self._checkpoint)

    async def write(self, mark: str) -> Told:
        return await self.doors.modern("write_note", {"name": f"{self.name}-{mark}", "text": "x"})

    async def _list(self) -> Told:
        headers = {**JSON, "mcp-protocol-version": MODERN, "mcp-method": "tools/list"}
        meta = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": dict[str, Any]()}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
        answer = await self.doors.http.post(self.doors.running.url, json=body, headers=headers)
        return OK if answer.json()["result"]["tools"] else ("nothing", "")

    async def _held(self) -> Told:
        """A call that is held, and somebody who says yes until it is answered."""
        arguments = {"name": f"{self.name}-held", "_justification": "tidying up"}
        async with asyncio.timeout(SOON), asyncio.TaskGroup() as group:
            calling = group.create_task(self.doors.modern("delete_note", arguments))
            while not calling.done():
                for each in list(self.doors.running.gateway.parts.room.register.board):
                    if not await self._approved(each.id):
                        self.faults.repair()  # it would wait for good
                await asyncio.sleep(0.002)
        return calling.result()

    async def _approved(self, approval: str) -> bool:
        doors = self.doors
        answer = await doors.http.post(doors.api(f"/approvals/{approval}/approve"), json={}, headers=doors.operator)
        return told_over_rest(answer)[0] != UNAVAILABLE[0]

    async def _token(self) -> Told:
        doors = self.doors
        wanted = {"name": "somebody", "roles": ["agent"]}
        made = await doors.http.post(doors.api("/tokens"), json=wanted, headers=doors.operator)
        if made.status_code != 201:
            return told_over_rest(made)
        return told_over_rest(
            await doors.http.delete(doors.api(f"/tokens/{made.json()['id']}"), headers=doors.operator)
        )

    async def _checkpoint(self) -> Told:
        doors = self.doors
        return told_over_rest(await doors.http.post(doors.api("/audit/checkpoint"), headers=doors.operator))


@contextlib.asynccontextmanager
async def begun(folder: Path, text: str, faults: Faults) -> AsyncGenerator[Running]:
    """A gateway, at the second try if its disk fails while it starts: whoever cannot keep a record does not start."""
    async with contextlib.AsyncExitStack() as stack:
        try:
            running = await stack.enter_async_context(serving(folder, text))
        except StoreUnavailable:
            faults.repair()
            running = await stack.enter_async_context(serving(folder, text))
        yield running


async def live(folder: Path, text: str, faults: Faults, http: httpx2.AsyncClient, *, lasting: bool) -> Life:
    """One life of a gateway, in which the disk fails somewhere."""
    problems: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
    # What cannot be written at the end is said to whoever ends it.
    with contextlib.suppress(StoreUnavailable):
        async with begun(folder, text, faults) as running:
            life = Life(folder.name, Doors(http, running), faults)
            await life.steps()
            if lasting:
                faults.repair()
                before = SystemClock().ticks()
                assert await life.write("after") == OK
                assert SystemClock().ticks() - before < RECOVERY_MICROS
    faults.repair()
    assert problems == []
    return life  # pyright: ignore[reportPossiblyUnboundVariable] - what fails at the start is tried again


def judge(life: Life, folder: Path, log: Path, *, lasting: bool) -> None:
    """What was said, against what the upstream got and what is on record."""
    sent = [each.message["params"]["arguments"]["name"] for each in received(log) if each.method == "tools/call"]
    with contextlib.closing(sqlite3.connect(folder / "data" / DATABASE)) as connection:
        rows = connection.execute("SELECT body FROM activity WHERE type = 'tool_call'").fetchall()
    recorded = {json.loads(text)["arguments"]["name"] for (text,) in rows}
    for what, told in life.told.items():
        mark = f"{life.name}-{what}"
        assert all(each == OK or each[0] in (UNAVAILABLE[0], UNKNOWN[0]) for each in told), (what, told)
        assert lasting or told[-1][0] != UNAVAILABLE[0], (what, told)
        if what in ("write", "held"):
            assert all(each in (OK, UNAVAILABLE, UNKNOWN) for each in told), (what, told)
            assert sent.count(mark) == (told[-1] != UNAVAILABLE), (what, told)
            assert mark in recorded or mark not in sent
    assert check(folder / "data", anchored=(folder / "data" / "anchor.jsonl").exists()).intact


@pytest.mark.sqlite("what fails is what the standard library opens, statement by statement")
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "until it is repaired"])
async def test_wherever_the_disk_fails_nothing_is_sent_without_a_record_and_all_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, http: httpx2.AsyncClient, lasting: bool
) -> None:
    faults, number, step = failing_disk(monkeypatch), 0, STEP if lasting else 1
    with http_upstream(tmp_path / "up.log") as upstream:
        text = f"expose: direct\nhold: {{answer_after: never}}\nservers: {{up: {{url: '{upstream.url}'}}}}\n"
        first = tmp_path / "first"
        first.mkdir()
        judge(await live(first, text, faults, http, lasting=True), first, upstream.log, lasting=False)
        while not number or faults.happened:
            number += step
            folder = tmp_path / f"n{number}"
            shutil.copytree(first, folder)
            faults.nth(number, lasting=lasting, words=WORDS[number % len(WORDS)])
            judge(await live(folder, text, faults, http, lasting=lasting), folder, upstream.log, lasting=lasting)
            shutil.rmtree(folder)
            os.truncate(upstream.log, 0)

    assert number > LEAST
