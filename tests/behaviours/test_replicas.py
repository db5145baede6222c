"""Two whole gateways on one PostgreSQL: what is said at one counts at the other."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest

from interlock.core.lifecycle import CallState
from interlock.core.safety import SafetyClass
from interlock.store.audit.seal import SealKind
from interlock.store.protocol import ActivityType
from tests.approving import DELETE, Counter, counter, said, text_of, wanted
from tests.postgres_server import PostgresServer
from tests.store.wire import At, Wire
from tests.talking import NO_TLS
from tests.upstream.running import stdio_argv

SOON = 20.0
ECHO = "up__echo"


@pytest.fixture
async def database(postgres: PostgresServer) -> AsyncIterator[str]:
    name = await postgres.new_database()
    yield name
    await postgres.drop(name)


@pytest.fixture
async def two(tmp_path: Path, postgres: PostgresServer, database: str) -> AsyncIterator[tuple[Counter, Counter]]:
    async with AsyncExitStack() as stack:
        made: list[Counter] = []
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            opening = counter(tmp_path / name, f"store: {postgres.address(database)}")
            made.append(await stack.enter_async_context(opening))
        yield made[0], made[1]


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something is so that another gateway has to hear of first."""
    async with asyncio.timeout(SOON):
        while not await true():  # noqa: ASYNC110 - it looks by itself
            await asyncio.sleep(0.02)


def code_of(result: types.CallToolResult) -> str:
    return str(said(result)["code"]) if result.is_error else ""


async def test_a_call_held_at_one_gateway_is_approved_over_the_other_and_runs_once(
    two: tuple[Counter, Counter],
) -> None:
    one, other = two
    async with one.client() as client, other.client() as elsewhere, asyncio.timeout(SOON):
        async with asyncio.TaskGroup() as group:
            calling = group.create_task(client.call_tool(DELETE, wanted("a")))
            waiting = await other.one()
            await other.approve(waiting.id)
        repeated = await elsewhere.call_tool(DELETE, wanted("a", _approval_id=waiting.id))

    assert text_of(calling.result()) == text_of(repeated) == "No such note."
    assert (one.sends(), other.sends()) == (1, 0)


async def test_what_people_change_at_one_gateway_counts_at_the_other(two: tuple[Counter, Counter]) -> None:
    one, other = two
    here = one.running.gateway.parts
    token, text = await one.minted("agent-1")
    await until(lambda: _is_known(other, text))
    async with other.client(token=text) as client:
        assert code_of(await client.call_tool(ECHO, {"text": "x"})) == ""
        await ask(one, "POST", "freeze", {})
        await until(lambda: _refused(client.call_tool(ECHO, {"text": "x"}), "FROZEN"))
        await ask(one, "POST", "thaw", {})
        await until(lambda: _refused(client.call_tool(ECHO, {"text": "x"}), ""))
        await here.drift.override("up", "echo", SafetyClass.DANGEROUS, "operator")
        await until(lambda: _refused(client.call_tool(ECHO, {"text": "x"}), "JUSTIFICATION_REQUIRED"))
        argv = stdio_argv(one.folder / "more.log")
        await here.roster.add("more", {"command": argv[0], "args": argv[1:]}, "operator")
        await until(lambda: _lists(other, "more"))
        await here.roster.remove("more", "operator")
        await until(lambda: _lists(other, "more", listed=False))
        await ask(one, "DELETE", f"tokens/{token.id}")
        await until(lambda: _unknown(other, text))


async def test_each_gateway_says_how_many_there_are(
    tmp_path: Path, postgres: PostgresServer, two: tuple[Counter, Counter], database: str
) -> None:
    one, other = two
    await until(lambda: _counts(one, 2))
    (tmp_path / "c").mkdir()
    async with counter(tmp_path / "c", f"store: {postgres.address(database)}") as third:
        assert await _counts(third, 3)
        await until(lambda: _counts(other, 3))
    await until(lambda: _counts(one, 2))


async def _counts(gateway: Counter, wanted: int) -> bool:
    """Whether people and Prometheus are told of so many."""
    shown = (await ask(gateway, "GET", "settings"))["gateways"]
    figures = gateway.running.gateway.parts.metrics.text()[0].decode()
    return shown == wanted and f"interlock_gateways {float(wanted)}" in figures


async def test_a_gateway_that_is_cut_off_refuses_even_reads_and_says_why_and_comes_back_by_itself(
    tmp_path: Path, postgres: PostgresServer, database: str
) -> None:
    async with (
        Wire(tmp_path / "w", postgres.folder) as wire,
        counter(tmp_path, f"store: {wire.address(database)}") as held,
        held.client() as client,
    ):
        lease = held.running.gateway.parts.room.peers
        assert lease is not None
        assert code_of(await client.call_tool(ECHO, {"text": "x"})) == ""
        wire.cut()
        await until(lambda: _is(not lease.lease.holds))
        refused, deleted = await client.call_tool(ECHO, {"text": "x"}), await client.call_tool(DELETE, wanted("a"))
        before = held.sends()
        ready = await _status(held, "readyz")
        await wire.mend()
        async with asyncio.timeout(5):
            await until(lambda: _refused(client.call_tool(ECHO, {"text": "x"}), ""))

    assert [code_of(each) for each in (refused, deleted)] == ["AUDIT_UNAVAILABLE"] * 2
    assert "could not look at its database" in said(refused)["message"]
    assert (before, ready) == (1, 503)


# A commit that nobody heard of -----------------------------------------------------------------------------------


@pytest.fixture
async def wired(tmp_path: Path, postgres: PostgresServer, database: str) -> AsyncIterator[tuple[Wire, Counter]]:
    """A gateway whose wire to the database breaks when it is told to, until it is mended."""
    async with (
        Wire(tmp_path / "w", postgres.folder) as wire,
        counter(tmp_path, f"store: {wire.address(database)}") as gateway,
    ):
        await until(lambda: _is_sealed(gateway))  # what is written by itself is over for a minute
        yield wire, gateway


async def _is_sealed(gateway: Counter) -> bool:
    sealed = await gateway.running.gateway.store.seals.last(SealKind.CHECKPOINT)
    sealer = gateway.running.gateway.parts.sealer
    return sealed is not None and sealer is not None and sealer.is_anchored


async def test_whoever_approves_and_does_not_hear_the_end_of_it_is_told_to_look(wired: tuple[Wire, Counter]) -> None:
    wire, gateway = wired
    async with gateway.client() as client, asyncio.TaskGroup() as group:
        calling = group.create_task(client.call_tool(DELETE, wanted("a")))
        waiting = await gateway.one()
        wire.breaks, wire.for_good = At.AFTER_COMMIT, True
        told = await answered(gateway, "POST", f"approvals/{waiting.id}/approve", {})
        await wire.mend()

    assert (told.status_code, told.json()["code"]) == (503, "AUDIT_UNAVAILABLE")
    assert "Whether this was done is not known" in told.json()["detail"]
    assert "Nothing was changed" not in told.text
    assert (await gateway.approval(waiting.id)).status == "approved"
    assert (text_of(calling.result()), gateway.sends()) == ("No such note.", 1)


async def test_a_call_that_was_not_sent_although_its_record_stands_is_closed_as_such(
    wired: tuple[Wire, Counter],
) -> None:
    wire, gateway = wired
    async with gateway.client() as client:
        wire.breaks, wire.for_good = At.AFTER_COMMIT, True
        refused = await client.call_tool("up__write_note", {"name": "a", "text": "x"})
        await wire.mend()
        await until(lambda: _refused(client.call_tool("up__write_note", {"name": "b", "text": "x"}), ""))
    first, *_ = await gateway.history(ActivityType.TOOL_CALL)
    result = first.body["result"]

    assert (code_of(refused), gateway.sends()) == ("AUDIT_UNAVAILABLE", 1)
    assert (first.body["arguments"], first.status) == ({"name": "a", "text": "x"}, CallState.ERROR)
    assert isinstance(result, dict)
    assert "cannot be written" in str(result["error"])


async def _is(so: bool) -> bool:
    return so


async def _is_known(at: Counter, token: str) -> bool:
    return not hasattr(at.running.gateway.callers.identify(f"Bearer {token}"), "code")


async def _unknown(at: Counter, token: str) -> bool:
    return not await _is_known(at, token)


async def _refused(call: Awaitable[types.CallToolResult], code: str) -> bool:
    return code_of(await call) == code


async def _lists(at: Counter, server: str, *, listed: bool = True) -> bool:
    return (server in at.running.gateway.pipeline.book.by_server) is listed


async def _status(at: Counter, path: str) -> int:
    async with httpx2.AsyncClient(verify=NO_TLS) as http:
        return (await http.get(f"http://{at.running.host}/{path}")).status_code


async def ask(at: Counter, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """What the operator gets from the REST face."""
    answer = await answered(at, method, path, body)
    assert answer.status_code < 300, answer.text
    return answer.json() if answer.content else None


async def answered(at: Counter, method: str, path: str, body: dict[str, Any] | None = None) -> httpx2.Response:
    """What the REST face answers the operator."""
    headers = {"authorization": f"Bearer {at.running.folder.credential()}"}
    async with httpx2.AsyncClient(verify=NO_TLS, headers=headers, timeout=SOON) as http:
        return await http.request(method, f"http://{at.running.host}/api/v1/{path}", json=body)
