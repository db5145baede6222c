"""The record of a call: before, after, redacted, and refused when it cannot be written."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from interlock import errors
from interlock.core.lifecycle import CallEvent, CallState
from interlock.core.model import (
    Allow,
    Call,
    Caller,
    Declaration,
    Deny,
    Ground,
    Intent,
    Json,
    OperationType,
    Sensitivity,
    Variant,
)
from interlock.core.toolbook import ListedTool, Listing, ToolBook
from interlock.core.trace import Trace, read_kept
from interlock.errors import Reason
from interlock.kept import MAX_ARGUMENTS, MAX_CONTENT, MAX_LABEL, OpenRecord, Origin, Outcome
from interlock.record import MOST_CHARACTERS, MOST_GATHERED, Recorder, RecordWait
from interlock.store.protocol import Activity, ActivityFilter, ActivityType, StoreUnavailable
from interlock.store.sql import SqlStore
from tests.fakes import FakeClock
from tests.stores import allow, forbid, held_by_another, kept_in, store_of

ROOT = Path(__file__).parent.parent

BOOK = ToolBook().with_listing(Listing("s", "s", [{"name": "get_x"}, {"name": "write_x"}]))
GROUND = Ground("posture:guarded", "h")
ORIGIN = Origin("mcp", "session-1", "7", "cursor")
CLOCK = FakeClock(now=5_000)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[SqlStore]:
    made = store_of(tmp_path / "data", CLOCK)
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


async def on_record(store: SqlStore) -> list[Activity]:
    return list(reversed((await store.list_activities(ActivityFilter())).items))


async def test_a_write_is_on_record_before_it_is_sent_and_closed_with_its_outcome(store: SqlStore) -> None:
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


async def test_how_often_a_caller_was_asked_is_on_record_with_the_outcome(store: SqlStore) -> None:
    recorder = Recorder(store, CLOCK)
    asked = {"elicitation": 1}
    record = await recorder.ahead(call("write_x"), tool("write_x"), allowed(), ORIGIN, asked)
    asked["elicitation"] += 1
    await recorder.outcome(record, Outcome(CallEvent.SUCCEED))
    (after,) = await on_record(store)
    metadata: Any = after.body["metadata"]

    assert metadata["questions"] == {"elicitation": 2}
    assert metadata["tool_variant"] == "call_tool_write"


async def test_a_read_is_written_once_with_its_outcome(store: SqlStore) -> None:
    recorder = Recorder(store, CLOCK)

    record = await recorder.ahead(call("get_x"), tool("get_x"), allowed(), ORIGIN)
    ahead = await on_record(store)
    await recorder.outcome(record, Outcome(CallEvent.SUCCEED))
    await recorder.settled()
    (after,) = await on_record(store)

    assert ahead == []
    assert after.status is CallState.SUCCESS


async def test_with_wait_all_a_read_is_on_record_before_it_is_sent_too(store: SqlStore) -> None:
    await Recorder(store, CLOCK, RecordWait.ALL).ahead(call("get_x"), tool("get_x"), allowed(), ORIGIN)

    assert [each.status for each in await on_record(store)] == [CallState.SENT]


async def test_a_refusal_is_a_policy_decision_with_its_reasons(store: SqlStore) -> None:
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
async def test_each_way_to_end_has_its_status(store: SqlStore, event: CallEvent, status: CallState) -> None:
    recorder = Recorder(store, CLOCK)

    record = await recorder.ahead(call("write_x"), tool("write_x"), allowed(), ORIGIN)
    await recorder.outcome(record, Outcome(event))

    assert [each.status for each in await on_record(store)] == [status]


async def test_no_secret_reaches_the_store(store: SqlStore, tmp_path: Path) -> None:
    recorder = Recorder(store, CLOCK)
    token = "ghp_" + "a1B2" * 9
    arguments: dict[str, Json] = {"password": "hunter2-hunter2", "deep": [{"note": f"use {token}"}]}

    record = await recorder.ahead(call("write_x", arguments), tool("write_x"), allowed(f"with {token}"), ORIGIN)
    await recorder.outcome(record, Outcome(CallEvent.FAIL, 9, f"got {token}", f"bad {token}"))
    await store.close()

    written = b"".join(kept_in(tmp_path / "data").values())
    assert b"hunter2-hunter2" not in written
    assert token.encode() not in written
    assert b"[redacted github]" in written


async def test_a_long_result_is_cut_and_its_size_is_kept(store: SqlStore) -> None:
    recorder = Recorder(store, CLOCK)

    record = await recorder.ahead(call("write_x"), tool("write_x"), allowed(), ORIGIN)
    await recorder.outcome(record, Outcome(CallEvent.SUCCEED, 99_999, "word " * 20_000))
    (activity,) = await on_record(store)

    assert activity.body["result"] == {"size": 99_999, "content": "word " * (MAX_CONTENT // 5)}


async def test_what_a_cut_leaves_of_a_secret_is_not_kept(store: SqlStore) -> None:
    recorder = Recorder(store, CLOCK, secrets=lambda: ["open-sesame-open"])
    room = MAX_CONTENT - len("open-sesame")

    for content in ("x" * room + "open-sesame", "x " * (room // 2) + "open-sesame-open"):
        record = await recorder.ahead(call("write_x"), tool("write_x"), allowed(), ORIGIN)
        await recorder.outcome(record, Outcome(CallEvent.SUCCEED, 99_999, content))

    assert not [each for each in await on_record(store) if "sesame" in str(each.body)]


# Secrets --------------------------------------------------------------------------------------------------------
async def kept(store: SqlStore, content: str, error: str = "", **options: Any) -> str:
    """What is on record of a result, as one text."""
    recorder = Recorder(store, CLOCK, **options)
    record = await recorder.ahead(call("write_x"), tool("write_x"), allowed(), ORIGIN)
    await recorder.outcome(record, Outcome(CallEvent.SUCCEED, len(content), content, error))
    (activity,) = await on_record(store)
    return json.dumps(activity.body["result"])


LEAKS: list[dict[str, Json]] = [
    {"structuredContent": {"password": "hunter2", "session_token": "hunter2"}},
    {"content": [{"type": "text", "text": '{"session_token": "hunter2"}'}]},
    {"content": [{"type": "text", "text": "{'password': 'hunter2'}"}]},
    {"content": [{"type": "text", "text": "first\npassword=hunter2"}]},
    {"content": [{"type": "text", "text": json.dumps({"body": json.dumps({"pass": "hunter2"})})}]},
    {"structuredContent": {"tokens": ["hunter2"], "credentials": {"a": ["hunter2"]}}},
]


@pytest.mark.parametrize("result", [*LEAKS, {"headers": [{"name": "Authorization", "value": "hunter2"}]}])
async def test_a_secret_in_a_result_is_hidden(store: SqlStore, result: dict[str, Json]) -> None:
    assert "hunter2" not in await kept(store, json.dumps(result))


@pytest.mark.parametrize("result", LEAKS)
async def test_a_secret_in_a_result_that_is_cut_is_hidden(store: SqlStore, result: dict[str, Json]) -> None:
    assert "hunter2" not in await kept(store, json.dumps({**result, "padding": "x " * MAX_CONTENT}))


async def test_a_value_that_the_gateway_holds_is_hidden_where_a_server_echoes_it(store: SqlStore) -> None:
    held = 'open "sesame"'
    content = json.dumps({"content": [{"type": "text", "text": f"you sent {held}"}]})

    assert "sesame" not in await kept(store, content, f"bad: {held}", secrets=lambda: [held])


async def test_the_values_that_the_gateway_holds_are_asked_for_anew(store: SqlStore) -> None:
    held = ["swordfish"]
    recorder = Recorder(store, CLOCK, secrets=lambda: held)
    await recorder.ahead(call("write_x", {"a": "swordfish"}), tool("write_x"), allowed(), ORIGIN)
    held.append("marlin-marlin")
    await recorder.ahead(call("write_x", {"a": "marlin-marlin"}), tool("write_x"), allowed(), ORIGIN)

    shown = {str(each.body["arguments"]) for each in await on_record(store)}
    assert shown == {"{'a': '[redacted configured secret]'}"}


async def test_names_that_others_choose_are_redacted_and_short(store: SqlStore) -> None:
    token = "ghp_" + "a1B2" * 9
    name = f"{token} {'x' * 9_999}"
    origin = Origin("mcp", name, name, name, name)
    stranger = Call(Caller("ci"), name, name, {}, "d")
    verdict = Deny((Reason(name),), GROUND)

    await Recorder(store, CLOCK).refused(stranger, None, verdict, origin)
    (activity,) = await on_record(store)

    told = json.dumps([activity.body, activity.server, activity.tool, activity.session_id])
    assert token not in told
    assert len(told) < 3_000
    assert activity.tool == f"[redacted github] {'x' * 999}"[:MAX_LABEL]


# Bounds ---------------------------------------------------------------------------------------------------------
async def test_long_arguments_leave_only_their_size_and_the_first_names(store: SqlStore) -> None:
    names = {f"name-{number}": "x" * 1_000 for number in range(100)}
    arguments: dict[str, Json] = {"ghp_" + "a1B2" * 9: "x", "y" * 999: "x", **names}

    await Recorder(store, CLOCK).refused(call("nothing", arguments), None, Deny((Reason("no"),), GROUND), ORIGIN)
    (activity,) = await on_record(store)

    told = activity.body["arguments"]
    assert isinstance(told, dict)
    assert (told["kept"], told["bytes"]) == (False, len(msgspec.json.encode(arguments)))
    assert told["keys"] == ["[redacted github]", "y" * MAX_LABEL, *(f"name-{number}" for number in range(18))]
    assert activity.body["digest"] == "digest"


async def test_arguments_that_just_fit_are_kept(store: SqlStore) -> None:
    arguments: dict[str, Json] = {"a": "x" * (MAX_ARGUMENTS - len('{"a":""}'))}

    await Recorder(store, CLOCK).ahead(call("write_x", arguments), tool("write_x"), allowed(), ORIGIN)
    (activity,) = await on_record(store)

    assert activity.body["arguments"] == arguments


# What a refused call declared -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("declared", "intent", "intent_type"),
    [
        (
            Declaration(True, "write", "private", "because password=hunter22"),
            {"operation_type": "write", "data_sensitivity": "private", "reason": "because [redacted assignment]"},
            "write",
        ),
        (
            Declaration(True, "explode", 5, ["no text"]),
            {"operation_type": None, "data_sensitivity": None, "reason": ""},
            None,
        ),
        (
            Declaration(True, "read", None, "x" * 9_999),
            {"operation_type": "read", "data_sensitivity": None, "reason": "x" * 1_000},
            "read",
        ),
        (Declaration(), None, None),
    ],
)
async def test_what_a_refused_call_declared_is_kept_as_far_as_it_is_well_formed(
    store: SqlStore, declared: Declaration, intent: Json, intent_type: str | None
) -> None:
    refused = replace(call("write_x"), declaration=declared)

    await Recorder(store, CLOCK).refused(refused, None, Deny((Reason("no"),), GROUND), ORIGIN)
    (activity,) = await on_record(store)

    metadata = activity.body["metadata"]
    assert isinstance(metadata, dict)
    assert metadata.get("intent") == intent
    assert activity.intent_type == intent_type


# When the store cannot write ------------------------------------------------------------------------------------
async def test_when_the_store_cannot_write_the_call_is_not_opened(store: SqlStore) -> None:
    recorder = Recorder(store, CLOCK)
    await store.close()

    with pytest.raises(StoreUnavailable):
        await recorder.ahead(call("write_x"), tool("write_x"), allowed(), ORIGIN)


@pytest.mark.parametrize("grant", [None, "g-1"])
async def test_what_could_not_be_written_is_told(store: SqlStore, grant: str | None) -> None:
    told: list[str] = []
    recorder = Recorder(store, CLOCK)
    recorder.on_unwritten = lambda: told.append("unwritten")
    await store.close()

    with pytest.raises(StoreUnavailable):
        await recorder.ahead(call("write_x"), tool("write_x"), replace(allowed(), grant=grant), ORIGIN)
    assert told == ["unwritten"]


async def test_a_call_whose_outcome_could_not_be_written_is_indeterminate_as_soon_as_the_store_writes_again(
    store: SqlStore, tmp_path: Path
) -> None:
    ended: list[Activity] = []
    recorder = Recorder(store, CLOCK)
    recorder.on_end = ended.append
    lost = await opening(recorder)
    forbid(tmp_path / "data")
    with pytest.raises(StoreUnavailable):
        await recorder.outcome(lost, Outcome(CallEvent.SUCCEED))
    with pytest.raises(StoreUnavailable):
        await opening(recorder)
    allow(tmp_path / "data")
    next_one = await opening(recorder)
    found = {each.id: each.status for each in await on_record(store) if each.type is ActivityType.TOOL_CALL}

    assert found == {lost.id: CallState.INDETERMINATE, next_one.id: CallState.SENT}
    assert [(each.id, each.status) for each in ended] == [(lost.id, CallState.INDETERMINATE)]


async def test_an_outcome_that_is_on_record_after_all_stays_as_it_is(store: SqlStore, tmp_path: Path) -> None:
    recorder = Recorder(store, CLOCK)
    record = await opening(recorder)
    forbid(tmp_path / "data")
    with pytest.raises(StoreUnavailable):
        await recorder.outcome(record, Outcome(CallEvent.SUCCEED))
    allow(tmp_path / "data")
    (sent,) = await on_record(store)
    await store.write([replace(sent, status=CallState.SUCCESS)])
    await opening(recorder)
    statuses = {each.id: each.status for each in await on_record(store)}

    assert statuses[record.id] is CallState.SUCCESS


async def test_after_a_long_outage_nobody_has_to_close_all_calls_of_it(
    store: SqlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.record.MOST_MADE_UP", 2)
    recorder = Recorder(store, CLOCK)
    lost = [await opening(recorder) for _ in range(5)]
    forbid(tmp_path / "data")
    for each in lost:
        with pytest.raises(StoreUnavailable):
            await recorder.outcome(each, Outcome(CallEvent.SUCCEED))
    allow(tmp_path / "data")
    left: list[int] = []
    for _ in range(3):
        await opening(recorder)
        statuses = {each.id: each.status for each in await on_record(store)}
        left.append(sum(statuses[each.id] is CallState.SENT for each in lost))

    assert left == [3, 1, 0]


async def test_a_call_is_on_record_with_its_trace_where_there_is_one(store: SqlStore) -> None:
    trace = Trace("a" * 32, "b" * 16, 5_000, parent="c" * 16)
    recorder = Recorder(store, CLOCK)
    refused = Deny((Reason("no"),), GROUND)
    without, with_trace = [
        await store.get_activity(await recorder.refused(call("write_x"), None, refused, origin))
        for origin in (ORIGIN, replace(ORIGIN, trace=trace))
    ]

    assert without is not None
    assert with_trace is not None
    assert ("trace" in without.body, read_kept(with_trace.body["trace"])) == (False, trace)


async def test_after_a_failed_write_not_even_a_read_is_opened_until_the_store_can_write(
    store: SqlStore, tmp_path: Path
) -> None:
    recorder = Recorder(store, CLOCK)
    forbid(tmp_path / "data")
    lost = await recorder.ahead(call("get_x"), tool("get_x"), allowed(), ORIGIN)
    await recorder.outcome(lost, Outcome(CallEvent.SUCCEED))
    with pytest.raises(StoreUnavailable):
        await recorder.settled()

    with pytest.raises(StoreUnavailable):
        await recorder.ahead(call("get_x"), tool("get_x"), allowed(), ORIGIN)
    allow(tmp_path / "data")
    record = await recorder.ahead(call("get_x"), tool("get_x"), allowed(), ORIGIN)

    told = {each.type: each for each in await on_record(store)}
    assert told[ActivityType.TOOL_CALL].id == record.id
    assert told[ActivityType.SYSTEM].body["records"] == 1


@pytest.mark.sqlite("the disk of the gateway itself is full")
def test_on_a_full_disk_every_read_that_is_let_pass_is_on_record_or_counted(tmp_path: Path) -> None:
    path = tmp_path / "data" / "interlock.db"
    command = [sys.executable, "-m", "tests.store.child_on_a_full_disk", str(path)]
    done = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)

    with closing(sqlite3.connect(path)) as found:
        (calls,) = found.execute("SELECT count(*) FROM activity WHERE type = 'tool_call'").fetchone()
        (lost,) = found.execute("SELECT sum(body ->> 'records') FROM activity WHERE type = 'system'").fetchone()
    assert done["after"]
    assert done["refused"] > 0
    assert lost > 0
    assert calls + lost == done["passed"]


# Writes gather while the disk is busy -----------------------------------------------------------------------------
def opening(recorder: Recorder) -> "asyncio.Future[OpenRecord]":
    return asyncio.ensure_future(recorder.ahead(call("write_x"), tool("write_x"), allowed(), ORIGIN))


async def turns(count: int = 10) -> None:
    """Let the event loop go round."""
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture
def written(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records were given to the store each time."""
    given, write = list[int](), store.write

    def counted(activities: Sequence[Activity]) -> "asyncio.Future[bool]":
        given.append(len(activities))
        return write(activities)

    monkeypatch.setattr(store, "write", counted)
    return given


async def test_what_comes_while_the_store_writes_goes_to_it_together_as_soon_as_it_has_written(
    store: SqlStore, tmp_path: Path, written: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.record.GATHER_SECONDS", 3600)
    recorder = Recorder(store, CLOCK)
    with held_by_another(tmp_path / "data"):
        opened = [opening(recorder)]
        await turns()
        for _ in range(3):
            opened.append(opening(recorder))
            await turns()
        meanwhile = list(written)
    await asyncio.gather(*opened)

    assert meanwhile == [1]
    assert written == [1, 3]


async def test_what_waited_for_a_write_that_fails_is_tried_and_heard_of_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.record.GATHER_SECONDS", 3600)
    store = store_of(tmp_path / "data", CLOCK, hurried=True)
    await store.start()
    recorder = Recorder(store, CLOCK)
    with held_by_another(tmp_path / "data"):
        opened = [opening(recorder)]
        await turns()
        opened.append(opening(recorder))
        ended = await asyncio.gather(*opened, return_exceptions=True)
    after = await opening(recorder)
    found = [each.id for each in await on_record(store)]
    await store.close()

    assert [type(each) for each in ended] == [StoreUnavailable, StoreUnavailable]
    assert found == [after.id]


# Reads gather -----------------------------------------------------------------------------------------------------
async def read(recorder: Recorder, content: str = "") -> str:
    record = await recorder.ahead(call("get_x"), tool("get_x"), allowed(), ORIGIN)
    await recorder.outcome(record, Outcome(CallEvent.SUCCEED, len(content), content))
    return record.id


async def test_reads_are_queued_after_a_moment_without_being_asked_for(store: SqlStore) -> None:
    recorder, ended = Recorder(store, CLOCK), asyncio.Event()
    recorder.on_end = lambda activity: ended.set()
    await read(recorder)

    await ended.wait()
    await store.write([])

    assert len(await on_record(store)) == 1


async def test_many_reads_do_not_wait_for_the_moment_to_pass(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.record.GATHER_SECONDS", 3600)
    recorder = Recorder(store, CLOCK)
    for _ in range(MOST_GATHERED):
        await read(recorder)

    await store.write([])

    assert await store.log_end() == MOST_GATHERED


async def test_reads_that_are_long_are_not_looked_at_all_in_one_go(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.record.GATHER_SECONDS", 3600)
    recorder, ended = Recorder(store, CLOCK), list[Activity]()
    recorder.on_end = ended.append
    long: dict[str, Json] = {"a": "x" * (MOST_CHARACTERS - MAX_CONTENT)}
    record = await recorder.ahead(call("get_x", long), tool("get_x"), allowed(), ORIGIN)
    await recorder.outcome(record, Outcome(CallEvent.SUCCEED, 2, "ok"))
    assert not ended

    await recorder.outcome(record, Outcome(CallEvent.SUCCEED, MAX_CONTENT, "x" * MAX_CONTENT))
    assert len(ended) == 2


async def test_what_is_waited_for_comes_after_the_reads_that_ended_before_it(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.record.GATHER_SECONDS", 3600)
    recorder = Recorder(store, CLOCK)
    ids = [await read(recorder), await read(recorder)]
    write = await recorder.ahead(call("write_x"), tool("write_x"), allowed(), ORIGIN)

    assert [entry.subject for entry in await store.log_entries(0, 10)] == [*ids, write.id]


async def test_of_many_reads_only_those_with_something_to_hide_are_changed(store: SqlStore) -> None:
    recorder = Recorder(store, CLOCK)
    for said in ("plain", "password=hunter2", "plain too", "\ud800 plain"):
        await read(recorder, said)
    await recorder.settled()

    shown = [json.loads(entry.text)["body"]["result"]["content"] for entry in await store.log_entries(0, 10)]
    assert shown == ["plain", "[redacted assignment]", "plain too", "\ud800 plain"]


async def test_a_read_that_no_database_could_hold_takes_no_other_with_it(store: SqlStore) -> None:
    problems: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context["message"]))
    recorder = Recorder(store, CLOCK)
    for session in ("a", "\ud800", "b"):
        origin = replace(ORIGIN, session_id=session)
        record = await recorder.ahead(call("get_x"), tool("get_x"), allowed(), origin)
        await recorder.outcome(record, Outcome(CallEvent.SUCCEED))
    await recorder.settled()

    assert {each.session_id for each in await on_record(store)} == {"a", "b"}
    assert problems == ["An activity could not be kept."]


async def test_a_defect_of_ours_reaches_whoever_waits_for_the_record(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    monkeypatch.setattr("interlock.record.activities_of", broken)
    async with asyncio.timeout(10):
        with pytest.raises(ZeroDivisionError):
            await Recorder(store, CLOCK).ahead(call("write_x"), tool("write_x"), allowed(), ORIGIN)

    assert [type(each["exception"]) for each in told] == [ZeroDivisionError]
