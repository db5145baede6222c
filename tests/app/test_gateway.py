"""A gateway that starts, runs and stops."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp.client import Client
from msgspec.structs import replace

from interlock.app.gateway import settle_what_a_crash_left, store_in
from interlock.approve.notices import Notice
from interlock.core.approvals import Approver, ApproverType
from interlock.core.freezes import FreezeKind, Frozen
from interlock.core.health import Health
from interlock.core.lifecycle import CallState
from interlock.errors import ConfigError
from interlock.receive.identify import OPERATOR
from interlock.record import config_change
from interlock.store.audit.anchor import seals_in
from interlock.store.audit.seal import SealKind
from interlock.store.folder import DataFolder
from interlock.store.protocol import Activity, ActivityFilter, ActivityType, Store, StoreUnavailable
from interlock.store.sqlite import SqliteStore
from tests.approve.receiving import OK, receiver, shown, url_of
from tests.approving import DELETE, counter, said, wanted
from tests.fakes import FakeClock
from tests.postgres_server import PostgresServer
from tests.running import server_yaml, serving, started
from tests.stores import allow, check, forbid, sealed_folder, store_of
from tests.upstream.running import stdio_argv

NO_SERVER = "servers: {off: {command: x, enabled: false}}\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_server_whose_secret_is_missing_is_down_with_that_problem_and_the_others_run(tmp_path: Path) -> None:
    text = (
        "servers:\n"
        + server_yaml("up", stdio_argv(tmp_path / "log"))
        + "  bad: {command: p, env: {T: '${env:NO_X}'}}\n"
    )
    async with started(tmp_path, text) as gateway:
        states = {each.id: each for each in gateway.fleet.states()}

    assert states["up"].health is Health.READY
    assert states["bad"].health is Health.DOWN
    assert "the environment variable NO_X is not set" in states["bad"].problem


async def test_a_gateway_that_should_send_traces_and_cannot_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.metrics", None)
    monkeypatch.delitem(sys.modules, "interlock.web.telemetry", raising=False)

    with pytest.raises(ConfigError, match=r"interlock\[otel\]"):
        async with started(tmp_path, NO_SERVER + "telemetry: {endpoint: 'http://127.0.0.1:1'}\n"):
            pass


async def test_a_gateway_with_no_configuration_has_the_tools_of_the_sample(tmp_path: Path) -> None:
    async with started(tmp_path) as gateway:
        names = [each.tool.shown for each in gateway.pipeline.book]
        health = gateway.fleet.upstreams["sample"].health

    assert "sample:read_note" in names
    assert health is Health.READY
    assert gateway.fleet.upstreams["sample"].health is Health.STOPPED


async def test_a_database_that_cannot_be_reached_is_told_and_the_record_is_not_kept_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="PostgreSQL: "):
        async with started(tmp_path, f"store: postgresql://u:hunter2@/db?host={tmp_path}"):
            pass

    assert not (tmp_path / "data" / "interlock.db").exists()


@pytest.fixture
async def address(postgres: PostgresServer) -> AsyncIterator[str]:
    """Where a database is that nobody has used yet."""
    name = await postgres.new_database("template1")
    yield postgres.address(name)
    await postgres.drop(name)


async def test_the_address_of_a_database_is_all_that_a_user_changes(tmp_path: Path, address: str) -> None:
    async with started(tmp_path, f"store: {address}") as gateway:
        chain, operator = gateway.store.seals.chain, [each.principal for each in await gateway.store.list_tokens()]
    async with started(tmp_path, f"store: {address}") as gateway:
        again, sealed = gateway.store.seals.chain, await gateway.store.seals.last(SealKind.CHECKPOINT)

    assert operator == [OPERATOR]
    assert again == chain == (tmp_path / "data" / "chain.id").read_text().strip()
    assert sealed is not None
    assert not (tmp_path / "data" / "interlock.db").exists()


async def test_two_gateways_on_one_database_have_a_log_each_and_leave_the_calls_of_the_other_alone(
    tmp_path: Path, address: str
) -> None:
    under_way = Activity("a1", 1, ActivityType.TOOL_CALL, CallState.SENT, {"k": 1}, "s", "t")
    async with started(tmp_path / "one", f"store: {address}") as one:
        await one.store.write([under_way])
        async with started(tmp_path / "two", f"store: {address}") as two:
            chains = {each.store.seals.chain for each in (one, two)}
            seen = await two.store.get_activity("a1")

    assert len(chains) == 2
    assert seen == under_way


async def test_the_record_of_a_run_of_the_lab_stays_with_the_run(tmp_path: Path) -> None:
    run = DataFolder(tmp_path / "lab" / ("0" * 30))

    assert isinstance(store_in(run, "postgresql://db/interlock", FakeClock()), SqliteStore)


async def test_what_a_crash_left_open_is_indeterminate_afterwards(tmp_path: Path) -> None:
    store = store_of(tmp_path, FakeClock())
    await store.start()
    sent = Activity("a1", 1, ActivityType.TOOL_CALL, CallState.SENT, {"k": 1}, "s", "t")
    done = replace(sent, id="a2", status=CallState.SUCCESS)
    await store.write([sent, done])

    settled = await settle_what_a_crash_left(store)
    again = await settle_what_a_crash_left(store)
    statuses = {each.id: each.status for each in (await store.list_activities(ActivityFilter())).items}
    await store.close()

    assert (settled, again) == (1, 0)
    assert statuses == {"a1": CallState.INDETERMINATE, "a2": CallState.SUCCESS}


async def test_a_secret_that_a_server_echoes_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP_SECRET", "open-sesame-open")
    argv = stdio_argv(tmp_path / "up.log")
    text = "expose: direct\nservers:\n" + server_yaml("up", argv)[:-2] + ", env: {T: '${env:DEEP_SECRET}'}}\n"
    async with serving(tmp_path, text) as running, Client(running.url, mode="2026-07-28") as client:
        await client.call_tool("up__echo", {"text": "it says open-sesame-open"})
        await running.gateway.pipeline.settled()
        (activity,) = await running.activities()

    assert "sesame" not in str(activity.body)


async def test_what_the_operator_does_is_in_the_log_behind_the_reads_that_ended_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.record.GATHER_SECONDS", 3600)
    text = "expose: direct\noverrides: {'up:echo': read-only}\nservers:\n"
    async with serving(tmp_path, text + server_yaml("up", stdio_argv(tmp_path / "up.log"))) as running:
        store = running.gateway.store
        begun = await store.log_end()
        async with Client(running.url, mode="2026-07-28") as client:
            await client.call_tool("up__echo", {"text": "x"})
        await store.write([config_change((), 1)])
        kinds = [entry.kind for entry in await store.log_entries(begun, 10)]

    assert kinds == ["tool_call", "config_change"]


async def test_what_is_older_than_the_file_says_goes_soon_after_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.store.audit.sealer.PRUNE_AFTER_SECONDS", 0)
    folder = await sealed_folder(tmp_path / "data")  # written years ago
    async with asyncio.timeout(60), started(tmp_path, "record: {keep_days: 30}\n" + NO_SERVER) as gateway:
        told = await _entries(gateway.store, "system")

    assert '"by":"keep_days"' in told[0]
    assert check(folder).pruned >= 30  # never the newest stretch, which is the last of these or what the start wrote


# The anchor -----------------------------------------------------------------------------------------------------


async def test_another_anchor_in_the_file_is_taken_up_and_what_is_in_it_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.app.gateway.LOOK_SECONDS", 0.01)
    await sealed_folder(tmp_path / "other")
    text = NO_SERVER + "record: {anchor: %s}\n"
    async with asyncio.timeout(60), started(tmp_path, text % "seals.jsonl") as gateway:
        sealer = gateway.parts.sealer
        assert sealer is not None
        first = await sealer.checkpoint()
        (tmp_path / "interlock.yaml").write_text(text % "other/anchor.jsonl", encoding="utf-8")
        await _entries(gateway.store, "config_change")
        second = await sealer.checkpoint()

    assert list(seals_in(tmp_path / "seals.jsonl")) == [first]
    assert second in list(seals_in(tmp_path / "other" / "anchor.jsonl"))
    assert "tells of another log" in (sealer.disagreement or "")


# Notices --------------------------------------------------------------------------------------------------------


async def test_a_gateway_tells_whom_its_file_names_and_takes_up_another_and_keeps_what_became_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("interlock.app.gateway.LOOK_SECONDS", 0.01)
    monkeypatch.setenv("DEEP_SECRET", "open-sesame-open")
    rest = "secret: '${env:DEEP_SECRET}'}, {url: 'https://nobody.example/swordfish', secret: '${env:NO_X}'}]}"
    servers = "servers: {off: {command: x, enabled: false}}\n"
    async with asyncio.timeout(60), receiver(OK) as first, receiver(OK) as second:
        text = servers + "notices: {webhooks: [{url: '%s', " + rest
        async with started(tmp_path, text % url_of(first)) as gateway:
            notices, store = gateway.parts.notices, gateway.store
            notices.tell(Notice("approval.created", 1, {"id": "apr-1"}))
            await _entries(store, "system")
            (tmp_path / "interlock.yaml").write_text(text % url_of(second), encoding="utf-8")
            await _entries(store, "config_change")
            notices.tell(Notice("approval.denied", 1, {"id": "apr-1"}))
            kept = await _entries(store, "system", 2)
            problems = [each.text for each in notices.problems()]

    assert [len(first.received), len(second.received)] == [1, 1]
    assert all(each.field("webhook-signature") for each in (*first.received, *second.received))
    assert [shown(first) in kept[0], shown(second) in kept[1]] == [True, True]
    assert "NO_X is not set. https://nobody.example is told nothing." in problems[0]
    assert "NO_X is not set" in caplog.text
    assert not [word for word in ("swordfish", "sesame") if word in f"{kept} {problems} {caplog.text}"]


async def _entries(store: Store, kind: str, count: int = 1) -> list[str]:
    """The texts of the log of one kind, as soon as there are so many of them."""
    found: list[str] = []
    after = 0
    while len(found) < count:
        entries = await store.next_entries(after, 100)
        found += [each.text for each in entries if each.kind == kind]
        after = entries[-1].seq
    return found


async def test_a_question_and_its_answer_reach_those_who_are_to_be_told(tmp_path: Path) -> None:
    async with asyncio.timeout(60), receiver(OK) as told:
        notices = (
            f"notices: {{webhooks: [{{url: '{url_of(told)}'}}]}}\nhold: {{answer_after: 50ms, approvals_needed: 2}}"
        )
        async with counter(tmp_path, notices) as held:
            async with held.client() as client:
                asked = said(await client.call_tool(DELETE, wanted()))["approval_id"]
            await held.minted("boss", "approver")
            await held.approve(asked, Approver("boss", ApproverType.CLI))
            await held.deny(asked, "no")
            await _entries(held.running.gateway.store, "system", 2)

    events = {json.loads(each.body)["type"]: json.loads(each.body)["data"] for each in told.received}
    assert len(told.received) == 2, "each is told once, and a vote is no news"
    assert set(events) == {"approval.created", "approval.denied"}
    assert (events["approval.created"]["status"], events["approval.denied"]["resolution"]) == ("pending", "no")
    assert events["approval.created"]["expires_at"].endswith("Z")


async def test_a_stop_that_the_store_could_not_take_is_kept_when_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.approve.freezer.AGAIN_SECONDS", 0)
    everything = Frozen(FreezeKind.ALL)
    async with started(tmp_path, NO_SERVER) as gateway:
        forbid(tmp_path / "data")
        with pytest.raises(StoreUnavailable):
            await gateway.parts.room.freezer.freeze(everything, "olga", "incident")
        allow(tmp_path / "data")
        async with asyncio.timeout(20):
            while everything not in await gateway.store.approvals.freezes():
                pass
