"""Telling people outside about approvals: real receivers, real commands, and nobody who is held up by them."""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from interlock.approve.notices import MOST_BODY, MOST_SHOWN, Notice, Notices, Pace, Status, Webhook, body_of
from interlock.approve.outbox import MOST_WAITING
from interlock.core.lifecycle import CallState
from interlock.core.model import Json
from interlock.errors import Reason
from interlock.store.protocol import Activity, ActivityType
from tests.approve.receiving import BROKEN, OK, PATH, SECONDS, Log, answer, receiver, shown, silent, url_of
from tests.fakes import FakeClock
from tests.forward.children import runs, wait_until

NOW = 1_790_000_000_000_000
QUICK = Pace(pauses=(0.0,) * 5, attempt=SECONDS, command=SECONDS, grace=SECONDS)
"""No pauses, and nobody is given up for being slow on a busy machine."""
KEY = bytes(range(24))
SECRET = "whsec_" + base64.b64encode(KEY).decode()


def notice(approval: str = "apr-1", event: str = "approval.created", **more: Json) -> Notice:
    return Notice(event, NOW, {"id": approval, "tool_name": "github__delete_repo", "requester": "ci", **more})


@asynccontextmanager
async def telling(*webhooks: Webhook, pace: Pace = QUICK) -> AsyncGenerator[tuple[Notices, Log]]:
    log = Log()
    notices = Notices(FakeClock(NOW), log, pace)
    notices.configure(webhooks, None)
    async with notices.running():
        yield notices, log


def told(activity: Activity) -> dict[str, Any]:
    return cast("dict[str, Any]", activity.body)


def of_target(log: Log, target: str) -> list[Activity]:
    return [each for each in log.activities if told(each)["target"] == target]


# Webhooks -------------------------------------------------------------------------------------------------------


async def test_a_receiver_can_verify_what_it_gets_by_hand() -> None:
    async with receiver(OK) as server, telling(Webhook(url_of(server), SECRET)) as (notices, log):
        notices.tell(notice())
        await log.count(1)
    (got,) = server.received
    signed = f"{got.field('webhook-id')}.{got.field('webhook-timestamp')}.".encode() + got.body
    by_hand = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()

    assert got.field("webhook-signature") == f"v1,{by_hand}"
    assert json.loads(got.body) == {
        "type": "approval.created",
        "timestamp": "2026-09-21T14:13:20.000000Z",
        "data": {"id": "apr-1", "tool_name": "github__delete_repo", "requester": "ci"},
    }


async def test_what_failed_is_tried_again_under_the_same_id_until_it_is_delivered() -> None:
    async with receiver(BROKEN, BROKEN, OK) as server, telling(Webhook(url_of(server), SECRET)) as (notices, log):
        notices.tell(notice())
        (activity,) = await log.count(1)
        attempts = [(each.attempt, each.status, each.detail) for each in notices.deliveries()]
        notices.tell(notice("apr-2"))
        await log.count(2)

    *ids, other = [each.field("webhook-id") for each in server.received]
    assert len(ids) == 3
    assert len({*ids}) == 1
    assert other not in ids
    assert attempts == [(3, Status.DELIVERED, "204"), (2, Status.RETRYING, "500"), (1, Status.RETRYING, "500")]
    assert (activity.type, activity.status) == (ActivityType.SYSTEM, CallState.SUCCESS)
    assert activity.body == {
        "event": "notice",
        "notice": "approval.created",
        "approval": "apr-1",
        "target": shown(server),
        "attempts": 3,
        "detail": "204",
    }


async def test_after_six_attempts_it_has_failed_and_the_operator_hears_of_it() -> None:
    async with receiver(BROKEN) as server:
        webhook = Webhook(url_of(server), None, "notices.webhooks[0]")
        async with telling(webhook) as (notices, log):
            notices.tell(notice())
            (activity,) = await log.count(1)
            (problem,) = notices.problems()

    assert (len(server.received), activity.status, told(activity)["attempts"]) == (6, CallState.ERROR, 6)
    assert problem.text == f"notices.webhooks[0] ({shown(server)}) has failed 6 times in a row: 500."
    assert problem.fix


async def test_one_that_is_gone_is_told_nothing_more_until_it_is_configured_anew() -> None:
    async with receiver(answer("410 Gone"), OK) as server:
        webhook = Webhook(url_of(server))
        async with telling(webhook) as (notices, log):
            notices.tell(notice())
            await log.count(1)
            notices.tell(notice("unheard"))
            (problem,) = notices.problems()
            notices.configure([webhook], None)
            notices.tell(notice("apr-3"))
            await log.count(2)
            cured = notices.problems()

    assert [json.loads(each.body)["data"]["id"] for each in server.received] == ["apr-1", "apr-3"]
    assert "wants no more notices (410)" in problem.text
    assert (len(log.activities), cured) == (2, [])


async def test_one_that_asks_for_patience_gets_it() -> None:
    pace = Pace(pauses=(0.0,) * 5)
    async with (
        receiver(answer("429 Slow Down", "Retry-After: 600")) as busy,
        receiver(OK) as other,
        telling(Webhook(url_of(busy)), Webhook(url_of(other)), pace=pace) as (notices, log),
    ):
        notices.tell(notice())
        await log.until(lambda _: len(of_target(log, shown(other))) == 1)
        notices.tell(notice("apr-2"))
        await log.until(lambda _: len(of_target(log, shown(other))) == 2)

    assert len(busy.received) == 1
    assert len(other.received) == 2
    assert [told(each)["attempts"] for each in of_target(log, shown(busy))] == [1, 0]


async def test_a_dead_receiver_delays_nobody_and_holds_a_bounded_number() -> None:
    pace = Pace(grace=0.0)
    async with (
        silent() as (dead, asked),
        receiver(OK) as healthy,
        telling(Webhook(url_of(dead)), Webhook(url_of(healthy)), pace=pace) as (notices, log),
    ):
        notices.tell(notice("first"))
        async with asyncio.timeout(SECONDS):
            await asked.wait()
        await log.until(lambda _: len(of_target(log, shown(healthy))) == 1)
        for number in range(MOST_WAITING + 5):
            notices.tell(notice(f"apr-{number}"))
        dropped = of_target(log, shown(dead))
        await log.until(lambda _: told(log.activities[-1])["approval"] == f"apr-{MOST_WAITING + 4}")
        at_healthy = [told(each)["detail"] for each in of_target(log, shown(healthy))]

    assert [(told(each)["approval"], each.status) for each in dropped] == [
        (f"apr-{number}", CallState.ERROR) for number in range(5)
    ]
    # The healthy one was flooded as well, faster than anybody can receive; it lost no more than the other.
    assert at_healthy.count("204") == 1 + MOST_WAITING
    assert len(notices.deliveries()) == MOST_SHOWN


async def test_the_address_and_the_secret_are_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with (
        receiver(BROKEN, answer("302 There", "Location: /swordfish"), b"swordfish\r\n\r\n", OK) as server,
        telling(Webhook(url_of(server), "hunter3-hunter3")) as (notices, log),
    ):
        notices.configure([Webhook(url_of(server), "hunter3-hunter3"), Webhook(f"http://127.0.0.1:1{PATH}")], None)
        notices.tell(notice())
        await log.count(2)
        seen = f"{notices.deliveries()} {notices.problems()} {log.activities} {caplog.text} {notices!r}"

    assert "302: redirects are not followed" in seen
    assert [each for each in ("swordfish", "hunter2", "hunter3", "/services") if each in seen] == []


async def test_without_a_secret_it_is_configured_all_the_same() -> None:
    notices = Notices(FakeClock(), Log())
    unconfigured = notices.configured
    notices.configure([Webhook("https://x/")], None)
    with_webhook = notices.configured
    notices.configure([], ("true",))
    with_command = notices.configured
    notices.configure([], None)

    assert (unconfigured, with_webhook, with_command, notices.configured) == (False, True, True, False)


# Configuration --------------------------------------------------------------------------------------------------


async def test_targets_come_and_go_while_it_runs() -> None:
    async with receiver(OK) as first, receiver(OK) as second, telling() as (notices, log):
        notices.tell(notice("nobody"))
        notices.configure([Webhook(url_of(first))], None)
        notices.tell(notice("one"))
        await log.count(1)
        notices.configure([Webhook(url_of(second))], None)
        notices.tell(notice("two"))
        await log.count(2)

    assert [json.loads(each.body)["data"]["id"] for each in first.received] == ["one"]
    assert [json.loads(each.body)["data"]["id"] for each in second.received] == ["two"]


async def test_one_that_stays_keeps_what_waits_for_it_and_one_that_goes_gives_it_up() -> None:
    async with silent() as (server, asked), receiver(OK) as staying, telling(Webhook(url_of(server))) as (notices, log):
        stays = Webhook(url_of(staying))
        notices.configure([Webhook(url_of(server)), stays], None)
        notices.tell(notice())
        async with asyncio.timeout(SECONDS):
            await asked.wait()
        notices.configure([stays], None)
        await log.count(2)

    statuses = {told(each)["target"]: (each.status, told(each)["detail"]) for each in log.activities}
    gone = "it was taken out of the configuration before this was delivered"
    assert statuses == {shown(server): (CallState.ERROR, gone), shown(staying): (CallState.SUCCESS, "204")}


async def test_what_cannot_be_used_is_a_problem_until_it_is_configured_anew() -> None:
    notices = Notices(FakeClock(), Log())
    notices.configure([], None, [Reason("it is not set", fix="Set it.")])
    problems = notices.problems()
    notices.configure([], None)

    assert ([each.text for each in problems], notices.problems()) == (["it is not set"], [])


def test_a_secret_that_is_none_changes_nothing() -> None:
    notices = Notices(FakeClock(), Log())
    notices.configure([Webhook("https://x/")], None)
    with pytest.raises(ValueError, match="is empty"):
        notices.configure([Webhook("https://y/", "")], None)

    assert notices.configured


# What is told ---------------------------------------------------------------------------------------------------


def test_what_is_too_long_is_left_out_and_named_so_that_the_rest_arrives() -> None:
    body = json.loads(body_of(notice(arguments={"text": "x" * 4_000_000}, justification="because")))

    assert body["data"] == {
        "id": "apr-1",
        "tool_name": "github__delete_repo",
        "requester": "ci",
        "justification": "because",
        "left_out": ["arguments"],
    }
    assert len(body_of(notice(arguments="x" * (MOST_BODY // 2)))) > MOST_BODY // 2


def test_half_a_character_is_written_as_an_escape() -> None:
    assert b"\\ud800" in body_of(notice(justification="\ud800"))


async def test_a_notice_that_cannot_be_written_is_a_failure_and_no_exception() -> None:
    async with receiver(OK) as server, telling(Webhook(url_of(server))) as (notices, log):
        notices.tell(notice(arguments=cast(Json, object())))
        notices.tell(notice())
        await log.count(2)

    assert [told(each)["detail"] for each in log.activities] == ["it cannot be written as JSON", "204"]


async def test_a_record_that_cannot_be_kept_stops_no_delivery(caplog: pytest.LogCaptureFixture) -> None:
    def broken(activity: Activity) -> None:
        raise OSError("swordfish")

    notices = Notices(FakeClock(), broken, QUICK)
    async with receiver(OK) as server:
        notices.configure([Webhook(url_of(server))], None)
        async with notices.running():
            notices.tell(notice())
            notices.tell(notice())

    assert len(server.received) == 2
    assert "could not be recorded: OSError" in caplog.text


# The command ----------------------------------------------------------------------------------------------------


async def test_a_command_gets_the_same_body_as_a_receiver(tmp_path: Path) -> None:
    file = tmp_path / "got"
    async with receiver(OK) as server, telling() as (notices, log):
        notices.configure(
            [Webhook(url_of(server))], ("sh", "-c", f'cat > "{file}"; echo "$INTERLOCK_EVENT" >> "{file}"')
        )
        notices.tell(notice(event="approval.denied"))
        await log.count(2)

    assert file.read_bytes() == server.received[0].body + b"approval.denied\n"
    assert {told(each)["target"] for each in log.activities} == {"command", shown(server)}
    assert all(each.status is CallState.SUCCESS for each in log.activities)


async def test_a_command_that_fails_is_not_run_again(tmp_path: Path) -> None:
    file = tmp_path / "runs"
    async with telling() as (notices, log):
        notices.configure([], ("sh", "-c", f'echo >> "{file}"; echo no route >&2; exit 7'))
        for number in range(3):
            notices.tell(notice(f"apr-{number}"))
        await log.count(3)
        (problem,) = notices.problems()

    assert file.read_text(encoding="ascii") == "\n" * 3
    assert [(told(each)["attempts"], told(each)["detail"]) for each in log.activities] == [(1, "exit 7: no route")] * 3
    assert problem.text == "notices.command has failed 3 times in a row: exit 7: no route."


async def test_at_most_two_commands_run_at_once(tmp_path: Path) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"
    os.mkfifo(begun)
    os.mkfifo(go)
    async with telling() as (notices, log):
        notices.configure([], ("sh", "-c", f'echo > "{begun}"; read line < "{go}"'))
        for number in range(5):
            notices.tell(notice(f"apr-{number}"))
        # Opening waits for one that writes, and each waits for us in turn: three of them would be seen here.
        with await asyncio.to_thread(begun.open, encoding="ascii") as reader:
            await asyncio.to_thread(reader.readline)
            running = await asyncio.to_thread(_commands, str(go))
        notices.configure([], None)
        await log.count(5)

    assert 1 <= running <= 2
    assert await asyncio.to_thread(wait_until, lambda: _commands(str(go)) == 0)


def _commands(word: str) -> int:
    """How many processes have this among their words."""
    found = 0
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += word in each.read_bytes().decode("utf-8", "replace") and runs(int(each.parent.name))
        except OSError:
            continue
    return found


# The end --------------------------------------------------------------------------------------------------------


async def test_what_is_due_when_it_ends_is_still_delivered() -> None:
    async with receiver(OK) as server, telling(Webhook(url_of(server))) as (notices, _):
        for number in range(5):
            notices.tell(notice(f"apr-{number}"))

    assert len(server.received) == 5


async def test_the_end_waits_neither_for_a_silent_receiver_nor_for_a_pause_nor_for_a_command(tmp_path: Path) -> None:
    pace = Pace(pauses=(3600.0,), attempt=3600.0, command=3600.0, grace=0.1)
    fifo = tmp_path / "pid"
    os.mkfifo(fifo)
    async with silent() as (server, asked), receiver(BROKEN) as broken, asyncio.timeout(SECONDS):
        async with telling(pace=pace) as (notices, log):
            command = ("sh", "-c", 'echo $$ > "$0"; exec sleep 600', str(fifo))
            notices.configure([Webhook(url_of(server)), Webhook(url_of(broken))], command)
            notices.tell(notice())
            pid = int(await asyncio.to_thread(fifo.read_text, "ascii"))
            await asked.wait()
            while not notices.deliveries():  # noqa: ASYNC110 - the attempt that failed is not in the log
                await asyncio.sleep(0)
        notices.tell(notice("late"))

    assert not runs(pid)
    assert {each.status for each in log.activities} == {CallState.ERROR}
    assert {told(each)["detail"] for each in log.activities} == {"the gateway stopped before it was delivered"}
    assert len(log.activities) == 6
