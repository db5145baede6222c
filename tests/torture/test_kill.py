"""kill -9 of a gateway under load, at twelve named places and at any moment, again and again on one folder.

A life of the gateway ends while callers read, write and wait for approvals, and the next life begins in the same
folder. Then the record, what the upstream wrote down, and what the callers were told are laid side by side: everything
that was answered is on record as it was answered, nothing is there twice, nothing above read-only was sent without its
record, what was sent without an outcome is indeterminate and was not sent again, the log is whole up to what its anchor
saw, and no child has outlived its gateway.
"""

import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interlock.store.audit.anchor import ANCHOR
from interlock.store.folder import CREDENTIAL
from tests.running import config_of, server_yaml
from tests.stores import log_of, rows_in
from tests.talking import NO_TLS, clean
from tests.torture.child_gateway import PLACES
from tests.upstream.running import events, received, stdio_argv

LIVES = 20
SERIES = max(1, int(os.environ.get("INTERLOCK_TEST_KILLS", "20")) // LIVES)
SOON = 30.0
"""Seconds after which a life that should have ended has not."""
CHILD_SECONDS = 5.0
WRITERS, READERS, HOLDERS = 6, 3, 4
READ, WRITE, DELETE = "echo", "write_note", "delete_note"
"""Tools of three classes: one that only reads, one that writes, and one that is held."""
SETTLING, REMOVING = "while what a crash left is settled", "in the middle of a removal"
SEALING = "a seal that only the anchor has"
ANY_MOMENT = "at any moment"
KEPT = 40
"""How many entries a removal leaves."""
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False


@dataclass
class Series:
    """One folder, and what is known of everything that was ever called in it."""

    folder: Path
    chance: random.Random
    port: int = field(default_factory=free_port)
    answered: dict[str, str] = field(default_factory=dict[str, str])
    """What callers were told, by the mark of their call; those that are no longer on record are left out."""
    told: int = 0
    """How many answers there were in all."""
    marks: int = 0
    removed: set[str] = field(default_factory=set[str])
    """The marks whose records may have been removed."""
    statuses: Counter[str] = field(default_factory=Counter[str])

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "upstream.log"

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def mark(self) -> str:
        self.marks += 1
        return f"mark-{self.marks}"

    @contextlib.contextmanager
    def life(self, place: str, number: int) -> "Generator[subprocess.Popen[str]]":
        """A gateway as a process of its own, once it serves or is gone."""
        argv = [sys.executable, "-m", "tests.torture.child_gateway", place, str(number), "serve"]
        argv += ["--config", str(self.folder / "interlock.yaml"), "--port", str(self.port)]
        argv += ["--data-dir", str(self.data)]
        with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=clean()) as process:
            try:
                assert process.stderr is not None
                while (line := process.stderr.readline()) and "Agents connect" not in line:
                    pass
                yield process
            finally:
                process.kill()

    def sends(self) -> list[tuple[str, str]]:
        """The tool and the mark of every call that the upstream received."""
        calls = [each.message["params"] for each in received(self.log) if each.method == "tools/call"]
        return [(each["name"], each["arguments"]["name"]) for each in calls]


# Callers ----------------------------------------------------------------------------------------------------------


async def call(series: Series, http: httpx2.AsyncClient, tool: str) -> None:
    """One call with a mark of its own; what came back is remembered."""
    mark, name = series.mark(), f"up__{tool}"
    arguments: dict[str, Any] = {"name": mark, **({"_justification": "tidying"} if tool == DELETE else {})}
    arguments |= {"text": "x"} if tool == WRITE else {}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
    headers |= {"mcp-method": "tools/call", "mcp-name": name}
    params: dict[str, Any] = {"name": name, "arguments": arguments, "_meta": META}
    body = {"jsonrpc": "2.0", "id": series.marks, "method": "tools/call", "params": params}
    answer = (await http.post(f"{series.address}/mcp", json=body, headers=headers)).json()
    assert not answer["result"].get("isError"), answer
    series.answered[mark] = tool
    series.told += 1


async def approve(series: Series, http: httpx2.AsyncClient) -> None:
    """Say yes to everything that waits."""
    token = (series.data / CREDENTIAL).read_text(encoding="utf-8").strip()
    headers = {"authorization": f"Bearer {token}"}
    api = f"{series.address}/api/v1/approvals"
    waiting = (await http.get(f"{api}?status=pending", headers=headers)).json()["items"]
    for each in waiting:
        await http.post(f"{api}/{each['id']}/approve", json={}, headers=headers)


async def remove(series: Series, http: httpx2.AsyncClient) -> None:
    """Have everything removed that the last lives left, but for a little."""
    token = (series.data / CREDENTIAL).read_text(encoding="utf-8").strip()
    series.removed |= {f"mark-{number}" for number in range(series.marks + 1)}
    await http.post(
        f"{series.address}/api/v1/audit/prune",
        json={"keep_records": KEPT},
        headers={"authorization": f"Bearer {token}"},
    )


async def until_it_dies(series: Series, process: "subprocess.Popen[str]", place: str) -> None:
    """Callers that call as fast as they can, until there is nobody left to call."""
    chance = series.chance
    enough = series.told + chance.randrange(1, 80) if place == ANY_MOMENT else None

    async def again_and_again(act: Callable[[], Any]) -> None:
        with contextlib.suppress(httpx2.HTTPError):
            while True:
                await act()
                if enough is not None and series.told >= enough:
                    asyncio.get_running_loop().call_later(chance.uniform(0, 0.01), process.kill)

    async with httpx2.AsyncClient(timeout=SOON, verify=NO_TLS) as http, asyncio.timeout(SOON):
        if place == REMOVING:
            with contextlib.suppress(httpx2.HTTPError):
                await remove(series, http)
            return
        async with asyncio.TaskGroup() as group:
            for tool, callers in ((WRITE, WRITERS), (READ, READERS), (DELETE, HOLDERS)):
                for _ in range(callers):
                    group.create_task(again_and_again(lambda tool=tool: call(series, http, tool)))
            group.create_task(again_and_again(lambda: approve(series, http)))


# What must be so --------------------------------------------------------------------------------------------------


async def no_child_lives(series: Series) -> None:
    pids = [each["pid"] for each in events(series.log, "started")]
    async with asyncio.timeout(CHILD_SECONDS):
        while any(map(is_alive, pids)):  # noqa: ASYNC110 - other processes end
            await asyncio.sleep(0.01)


def is_whole(series: Series) -> None:
    anchor = series.data / ANCHOR
    found = log_of(series.data).check(anchor if anchor.exists() else None)

    assert found.intact, found


def record_agrees(series: Series) -> None:
    """The record against what the upstream received and what the callers were told, while nobody calls."""
    calls = rows_in(series.data, "SELECT status, tool, body FROM activity WHERE type = 'tool_call'")
    recorded = [(json.loads(text)["arguments"]["name"], status, tool) for status, tool, text in calls]
    status_of = {mark: status for mark, status, _ in recorded}
    sent = series.sends()
    above_reads = {mark for tool, mark in sent if tool != READ} - series.removed
    awaited = {mark for mark, tool in series.answered.items() if tool != READ} - series.removed
    series.statuses = Counter(status for _, status, _ in recorded)

    assert len(status_of) == len(recorded), "no call is on record twice"
    assert len(set(sent)) == len(sent), "nothing is sent again"
    assert above_reads <= status_of.keys(), "nothing above read-only is sent without a record"
    assert {mark for mark in awaited if status_of.get(mark) != "success"} == set(), "what was answered is on record"
    assert set(status_of.values()) <= {"success", "indeterminate"}, "what has no outcome is not known"
    doubled = "SELECT count(*) FROM entry WHERE kind = 'tool_call' GROUP BY subject, text HAVING count(*) > 1"
    assert rows_in(series.data, doubled) == [], "nothing is told twice"


def plan(chance: random.Random) -> list[tuple[str, int]]:
    """Where each life ends. What settles comes after a life that left something, and removal after those that fill."""
    numbers = {place: chance.randrange(2, 20) for place in PLACES}
    numbers |= {SETTLING: 1, REMOVING: chance.randrange(1, 3), SEALING: chance.randrange(1, 3)}
    numbers["after the approval, before its grant is used"] = chance.randrange(1, 6)
    named = list(numbers.items())
    return [*named, *((ANY_MOMENT, 0) for _ in range(LIVES - len(named)))]


@pytest.mark.parametrize("seed", range(SERIES))
async def test_a_gateway_that_is_killed_anywhere_leaves_the_truth_behind(tmp_path: Path, seed: int) -> None:
    series = Series(tmp_path, random.Random(seed))
    config_of(
        tmp_path, "expose: direct\nhold: {answer_after: never}\nservers:\n" + server_yaml("up", stdio_argv(series.log))
    )
    unknown = 0
    for place, number in plan(series.chance):
        with series.life(place, number) as process:
            # A place that is also passed while it starts may have killed it by now; how it died is looked at below.
            if place != SETTLING and process.poll() is None:
                record_agrees(series)
                unknown = max(unknown, series.statuses["indeterminate"])
                await until_it_dies(series, process, place)
            assert process.wait(SOON) == -signal.SIGKILL, place
        await no_child_lives(series)
        is_whole(series)
    with series.life("-", 0) as process:
        record_agrees(series)

    assert unknown > 0, "some were killed between the send and the outcome"
    assert series.told > LIVES
