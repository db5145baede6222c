"""The event stream: what is told, that nothing is missed and nothing told twice, and how it ends."""

import asyncio
from dataclasses import replace

import pytest

from interlock.core.health import Health, UpstreamState
from interlock.core.lifecycle import ApprovalEvent, CallState
from interlock.core.model import HoldTerms
from interlock.store.protocol import ActivityType
from interlock.web import events, feed
from tests.web.listening import Heard, listening
from tests.web.office import HOUR, NOW, Office, activity
from tests.web.questions import ask

STATE = UpstreamState("up", "upper", "stdio", Health.DOWN, "it died", 3, "2026-07-28", trusted=False)


async def test_a_call_that_ended_is_told_with_how_it_ended(live: Office) -> None:
    async with listening(live) as listener:
        await live.ask("POST", "/tools/up/echo/call", json={"arguments": {"a": "very secret words"}})
        await live.ask("POST", "/tools/up/nothing/call", json={})
        heard = await listener.hears(2, "activity.")

    assert listener.status == 200
    assert listener.headers["content-type"].startswith("text/event-stream")
    assert "content-length" not in listener.headers
    assert [each.name for each in heard] == ["activity.success", "activity.blocked"]
    assert heard[0].data["tool"] == "echo"
    assert heard[0].data["event"] == "activity.success"
    shown = await live.get(f"/activity/{heard[0].data['id']}")
    assert {
        name: value for name, value in heard[0].data.items() if name not in ("event", "number")
    }.items() <= shown.items()
    assert "very secret words" not in listener.text


async def test_a_call_under_way_is_told_only_when_it_ended(bare: Office) -> None:
    async with listening(bare) as listener:
        await bare.store.write([activity(1, status=CallState.SENT)])
        await bare.store.write([activity(1)])
        heard = await listener.hears(1, "activity.")

    assert [each.name for each in heard] == ["activity.success"]


async def test_changes_of_tools_and_servers_are_told_with_who_made_them(bare: Office) -> None:
    body = {"change": "overridden", "by": "alice"}
    async with listening(bare) as listener:
        await bare.store.write([activity(1, type=ActivityType.TOOL_CHANGE, tool="t", server="s", body=body)])
        await bare.store.write([activity(2, type=ActivityType.SERVER_CHANGE, server="s", body=body)])
        heard = await listener.hears(2, "tool.", "server.")

    assert [(each.name, each.data["change"], each.data["by"]) for each in heard] == [
        ("tool.changed", "overridden", "alice"),
        ("server.changed", "overridden", "alice"),
    ]


async def test_a_stop_is_told_and_what_else_the_system_did_is_not(bare: Office) -> None:
    async with listening(bare) as listener:
        for number, change in enumerate(("signed in", "frozen", "thawed")):
            body = {"change": change, "by": "alice"}
            await bare.store.write([activity(number, type=ActivityType.SYSTEM, body=body)])
        heard = await listener.hears(2, "")

    assert [(each.name, each.data["change"]) for each in heard] == [
        ("freeze.changed", "frozen"),
        ("freeze.changed", "thawed"),
    ]


async def test_what_is_nobody_elses_business_is_not_told(bare: Office) -> None:
    async with listening(bare) as listener:
        await bare.store.write([activity(1, type=ActivityType.TOKEN_CHANGE), activity(2)])
        heard = await listener.hears(1, "")

    assert [each.data["id"] for each in heard] == ["act-0002"]


async def test_every_server_is_told_of_at_the_beginning_and_when_it_changes(live: Office) -> None:
    async with listening(live, "types=server") as listener:
        await listener.hears(2, "server.ready")
        live.parts.feed.health(STATE)
        (down,) = await listener.hears(1, "server.down")

    assert (down.data["id"], down.data["problem"], down.id) == ("up", "it died", None)


async def test_only_what_was_asked_for_is_told(live: Office) -> None:
    async with listening(live, "types=tool,activity&types=activity") as listener:
        live.parts.feed.health(STATE)
        await live.store.write([activity(1)])
        await listener.hears(1, "activity.")

    assert listener.named("server.") == []


@pytest.mark.parametrize("query", ["types=nothing", "types=", "what=ever"])
async def test_an_unknown_word_is_refused_with_the_known_ones(bare: Office, query: str) -> None:
    answer = await bare.ask("GET", f"/events?{query}")

    assert answer.status_code == 400
    assert "activity, approval, server, tool" in answer.json()["detail"] or "types" in answer.json()["detail"]


# Approvals ------------------------------------------------------------------------------------------------------


STREAM = "/approvals/stream"


async def every_change(office: Office) -> None:
    """Everything that can become of approvals, once each."""
    await ask(office, 1, terms=HoldTerms(approvals_needed=2))
    await office.ask("POST", "/approvals/ap_0001/approve", "approver")
    await office.ask_with(await office.issue("bob", "approver"), "POST", "/approvals/ap_0001/approve")
    await ask(office, 2)
    await office.ask("POST", "/approvals/ap_0002/deny", "approver", json={"resolution": "no"})
    gone = await ask(office, 3)
    await office.parts.room.register.end(gone, ApprovalEvent.CANCEL, "client disconnected")
    await ask(office, 4)
    office.clock.forward(HOUR)
    await office.parts.room.register.expire(office.clock.now())


TOLD = [
    ("approval.created", "ap_0001", "pending", 0),
    ("approval.voted", "ap_0001", "pending", 1),
    ("approval.approved", "ap_0001", "approved", 2),
    ("approval.created", "ap_0002", "pending", 0),
    ("approval.denied", "ap_0002", "denied", 0),
    ("approval.created", "ap_0003", "pending", 0),
    ("approval.cancelled", "ap_0003", "cancelled", 0),
    ("approval.created", "ap_0004", "pending", 0),
    ("approval.timeout", "ap_0004", "timeout", 0),
]


def changes(heard: list[Heard]) -> list[tuple[str, str, str, int]]:
    return [(each.name, each.data["id"], each.data["status"], len(each.data["votes"])) for each in heard]


@pytest.mark.parametrize(("path", "query"), [(STREAM, ""), ("/events", ""), ("/events", "types=approval")])
async def test_whatever_becomes_of_an_approval_is_told(bare: Office, path: str, query: str) -> None:
    async with listening(bare, query, path=path) as listener:
        await every_change(bare)
        heard = await listener.hears(len(TOLD), "")

    assert changes(heard) == TOLD
    assert all(each.id == str(each.data["number"]) and each.data["event"] == each.name for each in heard)


async def test_what_is_told_of_an_approval_is_what_is_shown_of_it(bare: Office) -> None:
    exact = {"big": 123456789012345678901234567890, "text": "línea\u2028", "list": [{"x": None}]}
    async with listening(bare, path=STREAM) as listener:
        await ask(bare, asked={"arguments": exact}, terms=HoldTerms(approvals_needed=2))
        created = await bare.get("/approvals/ap_0001")
        await bare.ask("POST", "/approvals/ap_0001/approve", "approver")
        voted = await bare.get("/approvals/ap_0001")
        heard = await listener.hears(2, "approval.")

    told = [{name: each.data[name] for name in each.data if name not in ("event", "number")} for each in heard]
    assert told == [created, voted]
    assert told[0]["arguments"] == exact


async def test_answers_that_were_refused_and_grants_that_were_revoked_are_not_told(bare: Office) -> None:
    token = await bare.issue("ci", "approver", kind="agent")
    async with listening(bare, path=STREAM) as listener:
        await ask(bare)
        await bare.ask_with(token, "POST", "/approvals/ap_0001/approve")
        await bare.ask("POST", "/approvals/ap_0001/approve", "approver")
        await bare.ask("DELETE", "/grants/gr_0001", "approver")
        await ask(bare, 2)
        heard = await listener.hears(3, "")

    assert [each.name for each in heard] == ["approval.created", "approval.approved", "approval.created"]


async def test_the_stream_of_approvals_resumes_where_it_broke_off(bare: Office) -> None:
    async with listening(bare, path=STREAM) as listener:
        await ask(bare)
        (first,) = await listener.hears(1, "approval.")
    await bare.store.write([activity(1)])
    await bare.ask("POST", "/approvals/ap_0001/deny", "approver")
    async with listening(bare, last=first.id, path=STREAM) as listener:
        await ask(bare, 2)
        heard = await listener.hears(2, "")

    assert [each.name for each in heard] == ["approval.denied", "approval.created"]


async def test_a_reader_of_long_approvals_that_does_not_keep_up_is_cut_before_they_fill_the_memory(
    bare: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "MAX_BYTES", 100_000)
    async with listening(bare, path=STREAM) as listener:
        listener.reading.clear()
        for number in range(1, 8):
            await ask(bare, number, asked={"arguments": {"text": "x" * 30_000}})
        async with asyncio.timeout(20):
            while not _flooded(bare):  # noqa: ASYNC110 - what floods is the follower, in its own time
                await asyncio.sleep(0.01)
        listener.reading.set()
        await listener.is_over()

    assert listener.events[-1].name == "overflow"
    assert len(listener.events) <= 3


async def test_a_reader_that_keeps_up_hears_more_than_may_wait(bare: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "MAX_BYTES", 100_000)
    async with listening(bare, path=STREAM) as listener:
        for number in range(1, 8):
            await ask(bare, number, asked={"arguments": {"text": "x" * 30_000}})
            await listener.hears(number, "approval.created")


async def test_the_stream_of_approvals_takes_no_questions(bare: Office) -> None:
    refused = await bare.ask("GET", f"{STREAM}?types=activity")

    assert (refused.status_code, refused.json()["detail"]) == (400, "types: it is not known here")


async def test_an_approval_in_the_log_that_was_tampered_with_is_left_out(bare: Office) -> None:
    await ask(bare)
    (entry,) = [each for each in await bare.store.log_entries(0, 10) if each.kind == "approval"]
    texts = [entry.text.replace(old, new) for old, new in (('"votes":[]', '"votes":7'), (f"{NOW + 1_000_000}", '"x"'))]

    assert feed.event_of(entry, {}) is not None
    assert [feed.event_of(replace(entry, text=text), {}) for text in texts] == [None, None]


# Resuming -------------------------------------------------------------------------------------------------------


async def test_a_reader_that_resumes_misses_nothing_and_hears_nothing_twice(bare: Office) -> None:
    """It goes away and comes back over and over, while calls end all the time, some of them unwaited for."""
    heard: list[str] = []
    last: str | None = None
    async with listening(bare) as listener:
        await bare.store.write([activity(0)])
        (first,) = await listener.hears(1, "activity.")
        heard.append(first.data["id"])
        last = first.id

    async def work() -> None:
        for number in range(1, 300):
            if number % 3:
                bare.store.write_soon([activity(number)])
            else:
                await bare.store.write([activity(number, status=CallState.SENT), activity(number)])

    async with asyncio.TaskGroup() as group:
        working = group.create_task(work())
        while len(heard) < 300:
            async with listening(bare, last=last) as listener:
                now = await listener.hears(1, "activity.")
            now = listener.named("activity.")
            heard += [each.data["id"] for each in now]
            last = now[-1].id
    assert working.done()

    assert heard == [f"act-{number:04}" for number in range(300)]


async def place(office: Office, number: int) -> str:
    """The id of the event that an entry of the log became."""
    await office.store.story.end()
    return office.store.story.text({office.store.seals.chain: number})


async def test_a_reader_whose_stream_ended_before_the_first_event_goes_on_from_its_beginning(bare: Office) -> None:
    await bare.store.write([activity(1)])
    async with listening(bare) as listener:
        pass
    await bare.store.write([activity(2)])
    async with listening(bare, last=listener.headers["last-event-id"]) as again:
        heard = await again.hears(1, "activity.")

    assert [each.data["id"] for each in heard] == ["act-0002"]


@pytest.mark.parametrize("last", [0, 1, 5, 24, 25, 43, 44])
async def test_a_reader_hears_exactly_what_came_after_the_last_it_heard(bare: Office, last: int) -> None:
    await bare.token("auditor")  # which is on record too
    begin = await bare.store.log_end()
    await bare.store.write([activity(number) for number in range(45)])
    async with listening(bare, last=await place(bare, begin + last)) as listener:
        await bare.store.write([activity(45)])
        await listener.hears(46 - last, "activity.")

    assert [each.data["id"] for each in listener.events] == [f"act-{number:04}" for number in range(last, 46)]


async def test_two_readers_hear_the_same_from_different_beginnings(bare: Office) -> None:
    await bare.store.write([activity(number) for number in range(50)])
    first, later = await place(bare, 0), await place(bare, 25)
    async with listening(bare, last=first) as early, listening(bare, last=later) as late, listening(bare) as now:
        await bare.store.write([activity(50)])
        of_early, of_late, of_now = [
            await each.hears(count, "activity.") for each, count in ((early, 51), (late, 26), (now, 1))
        ]

    assert [each.data["id"] for each in of_early] == [f"act-{number:04}" for number in range(51)]
    assert of_early[-26:] == of_late
    assert of_late[-1:] == of_now


OF_SEVERAL = pytest.param("1.5", marks=pytest.mark.sqlite("where gateways share a database it is an id"))


@pytest.mark.parametrize("last", ["x", "-1", OF_SEVERAL, "9" * 30, "١"])
async def test_an_id_that_is_none_is_refused(bare: Office, last: str) -> None:
    answer = await bare.ask("GET", "/events", headers={"Last-Event-ID": last.encode()})

    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("Last-Event-ID: ")


async def test_an_id_of_another_log_is_refused(bare: Office) -> None:
    answer = await bare.ask("GET", "/events", headers={"Last-Event-ID": await place(bare, 1_000_000)})

    assert answer.status_code == 400
    assert "no id of this gateway" in answer.json()["detail"]


# Ends -----------------------------------------------------------------------------------------------------------


async def test_a_reader_that_never_reads_is_told_so_and_cut(bare: Office) -> None:
    async with listening(bare, "types=activity") as listener:
        listener.reading.clear()
        for number in range(0, 1_200, 100):
            await bare.store.write([activity(each) for each in range(number, number + 100)])
        async with asyncio.timeout(20):
            while not _flooded(bare):  # noqa: ASYNC110 - what floods is the follower, in its own time
                await asyncio.sleep(0.01)
        listener.reading.set()
        await listener.is_over()

    assert listener.events[-1].name == "overflow"
    assert len(listener.events) <= 2


def _flooded(office: Office) -> bool:
    return any(each.flooded.is_set() for each in office.parts.feed.readers)


async def test_a_reader_that_does_not_even_take_that_is_cut_all_the_same(
    bare: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "MAX_WAITING", 10)
    monkeypatch.setattr(events, "LAST_SECONDS", 0.05)
    async with listening(bare, "types=activity") as listener:
        listener.reading.clear()
        await bare.store.write([activity(each) for each in range(20)])
        await listener.is_over()

    assert not bare.parts.feed.readers


async def test_a_slow_reader_disturbs_no_other(bare: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "MAX_WAITING", 10)
    async with listening(bare) as slow, listening(bare) as other:
        slow.reading.clear()
        for number in range(40):
            await bare.store.write([activity(number)])
            await other.hears(number + 1, "activity.")


async def test_a_quiet_stream_gives_signs_of_life(bare: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.01)
    async with listening(bare) as listener:
        await listener.hears_text(": still here\n\n: still here\n\n")


async def test_a_revoked_token_hears_nothing_more(bare: Office) -> None:
    text = await bare.issue("leaver", "auditor")
    async with listening(bare, token=text) as listener:
        await bare.ask("DELETE", f"/tokens/{text.split('_')[1]}")
        await bare.store.write([activity(1)])
        await listener.is_over()

    assert listener.events == []


async def test_the_stream_ends_when_the_gateway_stops(bare: Office) -> None:
    async with listening(bare) as listener:
        bare.parts.feed.end()
        await listener.is_over()


async def test_without_a_store_the_stream_ends_so_that_the_reader_resumes(bare: Office) -> None:
    async with listening(bare) as listener:
        await bare.store.close()
        await listener.is_over()


async def test_a_reader_that_left_is_forgotten(bare: Office) -> None:
    async with listening(bare):
        assert len(bare.parts.feed.readers) == 1

    assert not bare.parts.feed.readers


async def test_an_entry_that_was_tampered_with_is_left_out(bare: Office) -> None:
    await bare.store.write([activity(1), activity(2)])
    entries = await bare.store.log_entries(0, 10)
    broken = [replace(entries[0], text=text) for text in ("", "{", '{"id":1}', entries[0].text.replace("success", "x"))]

    assert [feed.event_of(each, {}) for each in broken] == [None] * 4
    assert feed.event_of(replace(entries[0], kind="other"), {}) is None
