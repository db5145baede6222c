"""The record of a call: before, after, redacted, and refused when it cannot be written."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from interlock import errors
from interlock.core.lifecycle import CallEvent, CallState
from interlock.core.model import Allow, Call, Caller, Deny, Ground, Intent, Json, OperationType, Sensitivity, Variant
from interlock.core.toolbook import ListedTool, Listing, ToolBook
from interlock.errors import Reason
from interlock.record import MAX_CONTENT, Origin, Outcome, Recorder, RecordWait
from interlock.store.protocol import Activity, ActivityFilter, ActivityType, StoreUnavailable
from interlock.store.sqlite import SqliteStore
from tests.fakes import FakeClock

BOOK = ToolBook().with_listing(Listing("s", "s", [{"name": "get_x"}, {"name": "write_x"}]))
GROUND = Ground("posture:guarded", "h")
ORIGIN = Origin("mcp", "session-1", "7", "cursor")
CLOCK = FakeClock(now=5_000)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[SqliteStore]:
    made = SqliteStore(tmp_path / "data" / "interlock.db", CLOCK)
    await made.start()
    yield made
    await made.close()


def tool(name: str) -> ListedTool:
    found = BOOK.find("s", name)
    assert found is not None
    return found


def call(name: str, arguments: dict[str, Json] | None = None) -> Call:
    return Call(Caller("ci", "ws"), "s", name, arguments or {}, "digest", Variant.WRITE)


def allowed(reason: str = "") -> Allow:
    return Allow((Reason("fine"),), GROUND, Intent(OperationType.WRITE, Sensitivity.PRIVATE, reason))


async def on_record(store: SqliteStore) -> list[Activity]:
    return list(reversed((await store.list_activities(ActivityFilter())).items))


async def test_a_write_is_on_record_before_it_is_sent_and_closed_with_its_outcome(store: SqliteStore) -> None:
    recorder = Recorder(store, CLOCK)

    record = await recorder.ahead(call("write_x", {"a": 1}), tool("write_x"), allowed("why"), ORIGIN)
    (ahead,) = await on_record(store)
    await recorder.outcome(record, Outcome(CallEvent.SUCCEED, 5, "hello"))
    (after,) = await on_record(store)

    assert (ahead.status, ahead.type) == (CallState.SENT, ActivityType.TOOL_CALL)
    assert after.status is CallState.SUCCESS
    assert after.id == ahead.id
    assert (after.server, after.tool, after.caller, after.workspace) == ("s", "write_x", "ci", "ws")
    assert (after.session_id, after.intent_type, after.safety_class) == ("session-1", "write", "write-capable")
    assert (after.verdict, after.rule_id) == ("allow", "posture:guarded")
    assert after.body["arguments"] == {"a": 1}
    assert after.body["digest"] == "digest"
    assert after.body["result"] == {"size": 5, "content": "hello"}
    assert after.body["metadata"] == {
        "tool_variant": "call_tool_write",
        "intent": {"operation_type": "write", "data_sensitivity": "private", "reason": "why"},
        "warnings": [],
    }


async def test_a_read_is_written_once_with_its_outcome(store: SqliteStore) -> None:
    recorder = Recorder(store, CLOCK)

    record = await recorder.ahead(call("get_x"), tool("get_x"), allowed(), ORIGIN)
    ahead = await on_record(store)
    await recorder.outcome(record, Outcome(CallEvent.SUCCEED))
    await store.write([])
    (after,) = await on_record(store)

    assert ahead == []
    assert after.status is CallState.SUCCESS


async def test_with_wait_all_a_read_is_on_record_before_it_is_sent_too(store: SqliteStore) -> None:
    await Recorder(store, CLOCK, RecordWait.ALL).ahead(call("get_x"), tool("get_x"), allowed(), ORIGIN)

    assert [each.status for each in await on_record(store)] == [CallState.SENT]


async def test_a_refusal_is_a_policy_decision_with_its_reasons(store: SqliteStore) -> None:
    recorder = Recorder(store, CLOCK)
    verdict = Deny((errors.FROZEN(what="everything"),), Ground("freeze", "h"))

    refused = await recorder.refused(call("nothing"), None, verdict, ORIGIN)
    (activity,) = await on_record(store)

    assert activity.id == refused
    assert (activity.type, activity.status) == (ActivityType.POLICY_DECISION, CallState.BLOCKED)
    assert (activity.verdict, activity.rule_id, activity.safety_class) == ("deny", "freeze", None)
    assert activity.body["reasons"] == [{"code": "FROZEN", "text": "Calls are frozen: everything."}]


@pytest.mark.parametrize(
    ("event", "status"),
    [
        (CallEvent.SUCCEED, CallState.SUCCESS),
        (CallEvent.FAIL, CallState.ERROR),
        (CallEvent.EXPIRE, CallState.TIMEOUT),
        (CallEvent.CANCEL, CallState.CANCELLED),
        (CallEvent.LOSE, CallState.INDETERMINATE),
    ],
)
async def test_each_way_to_end_has_its_status(store: SqliteStore, event: CallEvent, status: CallState) -> None:
    recorder = Recorder(store, CLOCK)

    record = await recorder.ahead(call("write_x"), tool("write_x"), allowed(), ORIGIN)
    await recorder.outcome(record, Outcome(event))

    assert [each.status for each in await on_record(store)] == [status]


async def test_no_secret_reaches_the_file(store: SqliteStore, tmp_path: Path) -> None:
    recorder = Recorder(store, CLOCK)
    token = "ghp_" + "a1B2" * 9
    arguments: dict[str, Json] = {"password": "hunter2-hunter2", "deep": [{"note": f"use {token}"}]}

    record = await recorder.ahead(call("write_x", arguments), tool("write_x"), allowed(f"with {token}"), ORIGIN)
    await recorder.outcome(record, Outcome(CallEvent.FAIL, 9, f"got {token}", f"bad {token}"))
    await store.close()

    written = b"".join(file.read_bytes() for file in (tmp_path / "data").iterdir())
    assert b"hunter2-hunter2" not in written
    assert token.encode() not in written
    assert b"[redacted github]" in written


async def test_a_long_result_is_cut_and_its_size_is_kept(store: SqliteStore) -> None:
    recorder = Recorder(store, CLOCK)

    record = await recorder.ahead(call("write_x"), tool("write_x"), allowed(), ORIGIN)
    await recorder.outcome(record, Outcome(CallEvent.SUCCEED, 99_999, "x" * 99_999))
    (activity,) = await on_record(store)

    assert activity.body["result"] == {"size": 99_999, "content": "x" * MAX_CONTENT}


async def test_when_the_store_cannot_write_the_call_is_not_opened(store: SqliteStore) -> None:
    recorder = Recorder(store, CLOCK)
    await store.close()

    with pytest.raises(StoreUnavailable):
        await recorder.ahead(call("write_x"), tool("write_x"), allowed(), ORIGIN)
