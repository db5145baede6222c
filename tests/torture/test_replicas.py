"""Four gateways on one PostgreSQL, approvers that answer at any of them, and gateways that are killed meanwhile.

Then the rows, the logs of all gateways, what the upstreams received and what everybody was told are laid side by side:
each approval has one end, one answer counted and all others were told which, nothing was sent twice, and what was told
could have happened in some order that agrees with when it was asked and answered.
"""

import asyncio
import contextlib
import json
import os
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.postgres_server import PostgresServer
from tests.torture.cluster import DELETE, ECHO, Cluster, Member, code_of, until

APPROVALS = int(os.environ.get("INTERLOCK_TEST_APPROVALS", "500"))
GATEWAYS, AGENTS, APPROVERS = 4, 4, 4
CALLERS, REVIEWS = 48, 6
HELD, FEW = 100, 10
"""How many calls wait at a gateway that is killed, and at one that is frozen."""
HOLD = "hold: {answer_after: 1s, approval_timeout: 6, max_pending_per_caller: 1000}\n"
"""Long enough that on a busy machine most are answered, short enough to see an end of those that nobody answers."""
PATIENT = "hold: {answer_after: never, approval_timeout: 300, max_pending_per_caller: 1000}\n"
TERMINAL = ("approved", "denied", "timeout", "cancelled")
RETRY = ("pending", "PENDING", "AUDIT_UNAVAILABLE")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True)
class Answer:
    """One answer of an approver: when it was given and taken, and what was said to it; no status when nothing was."""

    began: float
    ended: float
    approver: str
    status: int | None
    outcome: str = ""
    by: str | None = None


def disagreement(answers: Sequence[Answer], status: str, approver: str | None) -> str | None:
    """What of a history of one approval fits no order in time in which exactly one answer counted; None when all does.
    `status` and `approver` are what the row says in the end."""
    counted = [each for each in answers if each.status == 200]
    lost = [each for each in answers if each.status == 409]
    unknown = [each for each in answers if each.status is None]
    if len(counted) > 1:
        return "two answers counted"
    if any((each.outcome, each.by) != (status, approver) for each in (*counted, *lost)):
        return "somebody was told of another end than the row has"
    if approver is not None and not counted and approver not in {each.approver for each in unknown}:
        return "the row names somebody who was not told so"
    first = counted[0].began if counted else min((each.began for each in unknown), default=0.0)
    if approver is not None and any(each.ended < first for each in lost):
        return "somebody was told that it was too late before the answer that counted was even given"
    return None


def told(status: int | None, began: float, ended: float, outcome: str = "approved", by: str | None = "r1") -> Answer:
    return Answer(began, ended, "r1", status, outcome, by)


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([told(200, 0, 2), told(409, 1, 3)], None),
        ([told(None, 0, 2), told(409, 1, 3)], None),
        ([told(200, 0, 1), told(200, 2, 3)], "two answers counted"),
        ([told(200, 0, 1), told(409, 2, 3, "denied")], "somebody was told of another end than the row has"),
        ([told(409, 0, 1)], "the row names somebody who was not told so"),
        (
            [told(200, 2, 3), told(409, 0, 1)],
            "somebody was told that it was too late before the answer that counted was even given",
        ),
    ],
)
def test_a_history_that_fits_no_order_is_found(answers: list[Answer], problem: str | None) -> None:
    assert disagreement(answers, "approved", "r1") == problem


@dataclass
class Office:
    """Who calls and who answers, and what they were told."""

    cluster: Cluster
    chance: random.Random
    agents: dict[str, str]
    approvers: dict[str, str]
    wanted: int
    marks: int = 0
    answered: dict[str, str] = field(default_factory=dict[str, str])
    """What callers were told in the end, by the mark of their call."""
    history: dict[str, list[Answer]] = field(default_factory=lambda: defaultdict(list))
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def anywhere(self) -> Member:
        return self.chance.choice(self.cluster.members)

    async def caller(self, agent: str) -> None:
        """Calls one thing after the other, and comes again as long as it is told to."""
        while self.marks < self.wanted:
            self.marks += 1
            mark = f"mark-{self.marks}"
            with contextlib.suppress(httpx2.HTTPError, json.JSONDecodeError):
                self.answered[mark] = await self.told_in_the_end(agent, mark)

    async def told_in_the_end(self, agent: str, mark: str) -> str:
        arguments: dict[str, Any] = {"name": mark, "_justification": "tidying"}
        for _ in range(400):
            try:
                result = await self.cluster.call(self.anywhere(), self.agents[agent], DELETE, **arguments)
            except httpx2.ConnectError:  # it is dead, and was told nothing
                await asyncio.sleep(0.02)
                continue
            code = code_of(result)
            if code not in RETRY:
                return code or ("error" if result.get("isError") else "ran")
            approval = result["structuredContent"].get("approval_id")
            if approval is not None:
                arguments["_approval_id"] = approval
            await asyncio.sleep(0.05)
        return "gave up"

    async def reviewer(self) -> None:
        while not self.done.is_set():
            token = self.chance.choice([*self.approvers.values()])
            with contextlib.suppress(httpx2.HTTPError, json.JSONDecodeError, KeyError):
                at = self.anywhere()
                listed = (await self.cluster.ask(at, "GET", "approvals?status=pending&limit=100", token)).json()[
                    "items"
                ]
                listed = [each for each in listed if not each["id"].endswith("0")]  # for which nobody ever answers
                chosen = self.chance.sample(listed, min(len(listed), 12))
                await asyncio.gather(*(self.answer(each["id"]) for each in chosen if self.chance.random() < 0.9))
            await asyncio.sleep(self.chance.random() * 0.02)

    async def answer(self, approval: str) -> None:
        """One answer, or two at once at two gateways."""
        await asyncio.gather(*(self.one_answer(approval) for _ in range(self.chance.choice((1, 1, 2)))))

    async def one_answer(self, approval: str) -> None:
        name = self.chance.choice([*self.approvers])
        verb = self.chance.choice(("approve", "approve", "deny"))
        await asyncio.sleep(self.chance.random() * 0.02)
        began = time.monotonic()
        status, outcome, by = None, "", None
        with contextlib.suppress(httpx2.HTTPError, json.JSONDecodeError):
            path = f"approvals/{approval}/{verb}"
            answer = await self.cluster.ask(self.anywhere(), "POST", path, self.approvers[name], {})
            said = answer.json()
            if answer.status_code == 200:
                status, outcome, by = 200, said["status"], said["approver"]
            elif answer.status_code == 409 and said.get("winner"):
                status, outcome, by = 409, said["winner"]["status"], said["winner"]["approver"]
            elif answer.status_code != 503:
                raise AssertionError(answer.text)
        self.history[approval].append(Answer(began, time.monotonic(), name, status, outcome, by))

    async def killer(self, kills: int) -> None:
        """Kills one after the other, at any moment, and starts each again while the others work on."""
        async with asyncio.TaskGroup() as starting:
            for number in range(kills):
                await self.until(self.wanted * (number + 1) // (kills + 2))
                victim = self.chance.choice([each for each in self.cluster.members if each.serving])
                victim.kill()
                victim.launch()
                starting.create_task(victim.serves())

    async def until(self, marks: int) -> None:
        while self.marks < marks:  # noqa: ASYNC110 - several count
            await asyncio.sleep(0.01)


async def office_in(cluster: Cluster, seed: int, wanted: int) -> Office:
    agents = {f"a{each}": await cluster.token(f"a{each}", "agent") for each in range(AGENTS)}
    approvers = {f"r{each}": await cluster.token(f"r{each}", "approver") for each in range(APPROVERS)}
    return Office(cluster, random.Random(seed), agents, approvers, wanted)


async def work(office: Office, kills: int) -> None:
    """Everybody at once, until all has been called; then until nothing waits any more."""
    async with asyncio.TaskGroup() as group:
        callers = [group.create_task(office.caller(f"a{each % AGENTS}")) for each in range(CALLERS)]
        reviewers = [group.create_task(office.reviewer()) for _ in range(REVIEWS)]
        killing = group.create_task(office.killer(kills))
        await asyncio.wait([*callers, killing])
        await office.cluster.none_waits()
        office.done.set()
        await asyncio.wait(reviewers)


async def is_the_truth(office: Office) -> Counter[str]:
    """What must be so when nothing waits any more; how the approvals ended."""
    cluster = office.cluster
    rows = await cluster.rows("SELECT id, status, approver, body FROM approval")
    ends = Counter(
        each["subject"]
        for each in await cluster.rows("SELECT subject, text FROM entry WHERE kind = 'approval'")
        if json.loads(each["text"])["body"].get("change") in TERMINAL
    )
    sends = Counter(cluster.sends())
    calls = await cluster.rows("SELECT status, body FROM activity WHERE type = 'tool_call'")
    recorded = {json.loads(each["body"])["arguments"]["name"] for each in calls}
    allowed = {_mark(each["body"]) for each in rows if each["status"] == "approved"}

    assert ends == {each["id"]: 1 for each in rows}, "each approval ends once, in the log of one gateway"
    problems = {each["id"]: _problem(office.history, each) for each in rows}
    assert {key: value for key, value in problems.items() if value} == {}
    assert [mark for mark, times in sends.items() if times > 1] == [], "nothing is sent twice"
    assert sends.keys() <= allowed, "nothing is sent that nobody approved"
    assert sends.keys() <= recorded, "nothing is sent without a record"
    assert await cluster.rows("SELECT 1 FROM granted WHERE uses > 1") == []
    ran = {mark for mark, what in office.answered.items() if what == "ran"}
    assert ran <= sends.keys(), "who was told that it ran was told the truth"
    return Counter(each["status"] for each in rows)


def _mark(body: str) -> str:
    return json.loads(body)["asked"]["arguments"]["name"]


def _problem(history: Mapping[str, Sequence[Answer]], row: Any) -> str | None:
    return disagreement(history.get(row["id"], ()), row["status"], row["approver"])


async def test_whoever_answers_and_whoever_dies_each_approval_has_one_end_and_nothing_is_sent_twice(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    async with Cluster(tmp_path, postgres, GATEWAYS, HOLD) as cluster:
        office = await office_in(cluster, APPROVALS, APPROVALS)
        await work(office, kills=max(2, APPROVALS // 200))
        ended = await is_the_truth(office)

    assert ended["approved"] > APPROVALS // 10
    assert ended["denied"] > APPROVALS // 20
    assert ended["timeout"] > 0
    assert len(office.answered) > APPROVALS // 2


async def test_a_third_gateway_settles_what_one_that_was_killed_and_one_that_was_frozen_had_held(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    async with Cluster(tmp_path, postgres, 3, PATIENT) as cluster:
        killed, frozen, other = cluster.members
        agent, approver = await cluster.token("a0", "agent"), await cluster.token("r0", "approver")

        async def held(at: Member, number: int) -> str:
            with contextlib.suppress(httpx2.HTTPError):
                return code_of(await cluster.call(at, agent, DELETE, name=f"mark-{number}", _justification="tidying"))
            return "gone"

        async with asyncio.TaskGroup() as group:
            calling = [group.create_task(held(killed, number)) for number in range(HELD)]
            calling += [group.create_task(held(frozen, HELD + number)) for number in range(FEW)]
            await cluster.wait(HELD + FEW)
            killed.kill()
            frozen.pause(signal.SIGSTOP)
            await cluster.none_waits()
            (first, *_) = await cluster.rows("SELECT id FROM approval")
            late = await cluster.ask(other, "POST", f"approvals/{first['id']}/approve", approver, {})
            frozen.pause(signal.SIGCONT)
        rows = await cluster.rows("SELECT status, body FROM approval")
        await until(lambda: _serves(cluster, frozen, agent))
        runs = await cluster.rows("SELECT chain, count(*) FROM gateway GROUP BY chain ORDER BY count(*)")

    assert Counter(each.result() for each in calling) == {"gone": HELD, "CANCELLED": FEW}
    assert Counter((each["status"], json.loads(each["body"])["resolution"]) for each in rows) == {
        ("cancelled", "gateway restarted"): HELD + FEW
    }
    assert (late.status_code, cluster.sends()) == (409, [])
    assert [each["count"] for each in runs] == [1, 1, 2], "who comes back is another run"


async def _serves(cluster: Cluster, member: Member, token: str) -> bool:
    return code_of(await cluster.call(member, token, ECHO, name="again")) == ""


async def test_a_database_that_is_killed_under_load_costs_refusals_and_nothing_else(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    async with Cluster(tmp_path, postgres, 2, HOLD) as cluster:
        office = await office_in(cluster, 7, 60)
        async with asyncio.TaskGroup() as group:
            working = group.create_task(work(office, kills=0))
            await office.until(30)
            await asyncio.to_thread(postgres.crash)
            await asyncio.to_thread(postgres.start)
            await working
        await is_the_truth(office)


async def test_a_stop_at_one_gateway_stops_all_of_them_within_a_second(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    async with Cluster(tmp_path, postgres, 2, PATIENT) as cluster:
        one, _ = cluster.members
        token = await cluster.token("a0", "agent")
        sent_late = 0
        at = float("inf")

        async def calls(member: Member) -> None:
            nonlocal sent_late
            frozen = 0
            while frozen < 20:
                began = time.monotonic()
                result = await cluster.call(member, token, ECHO, name="x")
                frozen = frozen + 1 if code_of(result) == "FROZEN" else 0
                sent_late += began > at + 1.0 and not frozen

        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            for member in cluster.members:
                for _ in range(4):
                    group.create_task(calls(member))
            await until(lambda: _some_are_sent(cluster))
            answer = await cluster.ask(one, "POST", "freeze", one.credential, {})
            at = time.monotonic()

    assert (answer.status_code, sent_late) == (200, 0)


async def _some_are_sent(cluster: Cluster) -> bool:
    return len(cluster.sends("echo")) > 20
