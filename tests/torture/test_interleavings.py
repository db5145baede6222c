"""Whatever gets into each other's way at the desk: one transition for each approval, and nothing sent that may not be.

Each seed is one way in which answers, deadlines, disconnects, repeats, crashes, reloads, revocations and freezes fall
between each other. A seed that fails is printed; `INTERLOCK_TEST_SEED=<seed>` runs that one alone.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

import pytest
from msgspec import json

from interlock.approve.register import LOST
from interlock.core.approvals import Approval
from interlock.core.grants import GrantScope
from interlock.core.lifecycle import CALL, ApprovalState
from interlock.errors import Code, Reason
from interlock.pipeline import Reply
from interlock.second_key import RECORDED
from interlock.store.protocol import Activity, ActivityType
from tests.torture.lives import FREE, LINEAGE, ONE, Calling, Sent, World
from tests.torture.memory import MemoryStore, ReadThenWriteStore
from tests.torture.virtual import Stuck, VirtualLoop

FULL = os.environ.get("HYPOTHESIS_PROFILE") == "torture"
SEEDS = int(os.environ.get("INTERLOCK_TEST_SEEDS", "10_000" if FULL else "1_000"))
ONLY = os.environ.get("INTERLOCK_TEST_SEED")
PARTS = 10
FOUND_WITHIN = 100
"""Within how many seeds a resolver that reads first and writes then must be found."""

Check = Callable[[World], Iterator[str]]


# What must hold ---------------------------------------------------------------------------------------------------


def one_transition(world: World) -> Iterator[str]:
    """Exactly one terminal state for each approval, in its row, in the log, and in what the store has seen happen."""
    told: defaultdict[str, list[str]] = defaultdict(list)
    for each in world.disk.log:
        if each.type is ActivityType.APPROVAL and each.id in world.disk.approvals:
            told[each.id].append(str(each.body["change"]))
    moved = Counter(approval for approval, _, _ in world.disk.moves)
    for row in world.disk.approvals.values():
        ends = [each for each in told[row.id] if each in ("approved", "denied", "timeout", "cancelled")]
        if row.status is ApprovalState.PENDING:
            yield f"{row.id} is still open"
        if moved[row.id] != 1 or ends != [row.status.value]:
            yield f"{row.id} is {row.status}, but moved {moved[row.id]} times and was told as {ends}"


def nobody_answers_for_itself(world: World) -> Iterator[str]:
    for row in world.disk.approvals.values():
        voters = [each.approver for each in row.votes]
        kin = [each for each in (*voters, row.approver) if each and LINEAGE.are_kin(each, row.requester)]
        if kin:
            yield f"{row.id} of {row.requester} was answered by {kin}"
        if len(set(voters)) != len(voters):
            yield f"{row.id} has two votes of one: {voters}"
        if row.status is ApprovalState.APPROVED and len(voters) != row.terms.approvals_needed:
            yield f"{row.id} was approved by {voters}"


def answers_have_one_winner(world: World) -> Iterator[str]:
    for each in world.answerings:
        row = world.disk.approvals[each.approval]
        if each.told == "unavailable" and not world.may_fail:
            yield f"{each.reviewer} could not answer {row.id}"
        if each.told in ("approved", "denied") and (row.status, row.approver) != (each.told, each.reviewer):
            yield f"{each.reviewer} was told {each.told} of {row.id}, which is {row.status} by {row.approver}"
    wins = Counter(each.approval for each in world.answerings if each.told in ("approved", "denied"))
    yield from (f"{count} answers to {approval} counted" for approval, count in wins.items() if count > 1)


def sent_only_what_may_be(world: World) -> Iterator[str]:
    """A record ahead of each call that was sent, and with it an allow, or a grant that fits."""
    sends: Counter[str] = Counter()
    for sent in world.sent:
        record = sent.record
        if record is None:
            yield f"{sent} has no record ahead of it"
            continue
        if world.revoked.at(sent.caller, record.at) or world.frozen.at("all", record.at):
            yield f"{sent} was let pass while revoked or frozen"
        if record.approval_id is None:
            if (sent.tool, record.verdict, record.rule_id) != (FREE, "allow", "free"):
                yield f"{sent} was let pass by nothing"
            continue
        sends[record.approval_id] += 1
        yield from _fits(world, sent, record, record.approval_id)
    for approval, count in sends.items():
        grant = world.disk.grants[approval]
        if count > grant.uses or (grant.scope is GrantScope.ONCE and count > 1):
            yield f"{approval} let {count} calls pass, with {grant}"


def _fits(world: World, sent: Sent, record: Activity, approval: str) -> Iterator[str]:
    row, grant = world.disk.approvals[approval], world.disk.grants.get(approval)
    if row.status is not ApprovalState.APPROVED or grant is None:
        yield f"{sent} was sent by {approval}, which is {row.status}"
        return
    if (row.requester, row.key.tool) != (sent.caller, sent.tool):
        yield f"{sent} was sent by an approval of something else: {row.key}"
    if grant.scope is not GrantScope.TOOL and record.body["digest"] != row.key.digest:
        yield f"{sent} was sent by an approval of other arguments"
    rules = world.hashes_at(record.at)
    if rules.get(row.rule_id) != row.key.rule_hash or (sent.tool == ONE and "no" in rules):
        yield f"{sent} was sent by an approval under other rules"
    if record.at >= grant.expires_at:
        yield f"{sent} was sent by a grant that was over"


def replies_fit_the_rows(world: World) -> Iterator[str]:
    for each in world.callings:
        if each.life.over:
            continue
        if each.task is None or not each.task.done():
            yield f"{each.call} hangs"
        elif each.failed is not None and not each.task.cancelled():
            yield f"{each.call} failed: {each.failed!r}"
        elif each.reply is not None and each.reply.answer is not None:
            yield from _answered(world, each, each.reply)
        elif each.reply is not None and each.reply.refusal is not None:
            yield from _refused(world, each, each.reply, each.reply.refusal)


def _answered(world: World, calling: Calling, reply: Reply) -> Iterator[str]:
    """An answer is that of this very call, which somebody sent."""
    result = json.decode(reply.answer.result if reply.answer else b"")
    recorded = result.get("_meta", {}).get(RECORDED)
    if recorded is not None:
        row = world.disk.approvals[recorded["approval_id"]]
        if (row.requester, row.key.digest) != (calling.call.caller.name, calling.call.digest):
            yield f"{calling.call} got what belongs to {row.key}"
    text = result["content"][0]["text"]
    if text.isdigit():
        sent = world.sent[int(text)]
        call = calling.call
        if (sent.caller, sent.tool, {"n": sent.number}) != (call.caller.name, call.tool, call.arguments):
            yield f"{calling.call} got the answer to {sent}"


def _refused(world: World, calling: Calling, reply: Reply, refusal: Reason) -> Iterator[str]:
    row = None if reply.approval is None else world.disk.approvals.get(reply.approval)
    said = f"{calling.call.caller.name} was told '{refusal.text}' of {row}"
    match refusal.code:
        case Code.DENIED if row is not None:
            fits = row.status is ApprovalState.DENIED and row.resolution in refusal.text
        case Code.DENIED:
            fits = any(_same(each, calling) and each.resolution in refusal.text for each in _denied(world))
        case Code.TIMEOUT:
            fits = row is not None and row.status is ApprovalState.TIMEOUT
        case Code.CANCELLED:
            fits = LOST in refusal.text if row is None else _is_cancelled(row, refusal)
        case Code.PENDING if reply.expires_at is not None:
            fits = row is not None and row.answered
        case Code.STALE_APPROVAL if "used already" in refusal.text:
            fits = world.may_fail or _is_spent(world, refusal)
        case Code.AUDIT_UNAVAILABLE | Code.INDETERMINATE:
            fits = world.may_fail or refusal.code is Code.INDETERMINATE
        case _:
            fits = True
    if not fits:
        yield said


def _is_spent(world: World, refusal: Reason) -> bool:
    grant = next(each for approval, each in world.disk.grants.items() if approval in refusal.text)
    return grant.uses > 0 or grant.revoked


def _denied(world: World) -> list[Approval]:
    return [each for each in world.disk.approvals.values() if each.status is ApprovalState.DENIED]


def _same(row: Approval, calling: Calling) -> bool:
    call = calling.call
    return (row.requester, row.key.tool, row.key.digest) == (call.caller.name, call.tool, call.digest)


def _is_cancelled(row: Approval, refusal: Reason) -> bool:
    return row.status is ApprovalState.CANCELLED and row.resolution in refusal.text


def nothing_is_left_behind(world: World) -> Iterator[str]:
    """Every record is closed, the board is empty, and nothing failed where nobody looked."""
    yield from (f"nobody caught {each}" for each in world.loop.problems)
    board = world.house.room.register.board
    if len(board) or any(board.count(each.call.caller.name) for each in world.callings):
        yield f"the board still has {[each.id for each in board]}"
    for each in world.disk.activities.values():
        if each.type is not ActivityType.APPROVAL and CALL[each.status] and not world.may_fail:
            yield f"{each} was never closed"


def the_board_shows_the_rows(world: World) -> Iterator[str]:
    """In a moment in which nothing is under way, what waits on the board is what waits in the store."""
    rows = {each.id for each in world.disk.approvals.values() if each.status is ApprovalState.PENDING}
    shown = {each.id for each in world.house.room.register.board}
    if rows != shown:
        yield f"open in the store: {sorted(rows)}; on the board: {sorted(shown)}"


AT_THE_END: tuple[Check, ...] = (
    one_transition,
    nobody_answers_for_itself,
    answers_have_one_winner,
    sent_only_what_may_be,
    replies_fit_the_rows,
    nothing_is_left_behind,
)


# Seeds ------------------------------------------------------------------------------------------------------------


def violations(seed: int, kind: type[MemoryStore] = MemoryStore) -> list[str]:
    """What goes wrong with this seed."""
    loop = VirtualLoop(seed)
    world = World(loop, kind)

    async def story() -> list[str]:
        await world.play()
        found = [] if world.may_fail else [*the_board_shows_the_rows(world)]
        await world.come_to_an_end()
        found += [each for check in AT_THE_END for each in check(world)]
        await world.bury()
        return found

    try:
        return loop.run(story())
    except Stuck:
        return ["somebody waits for ever"]


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_falls_between_each_approval_moves_once_and_nothing_is_sent_without_it(part: int) -> None:
    for seed in range(part, SEEDS, PARTS) if ONLY is None else [int(ONLY)]:
        found = violations(seed)
        assert not found, f"seed {seed}: {found}"


def test_the_same_seed_is_the_same_story() -> None:
    def sent(seed: int) -> list[tuple[str, str, int]]:
        loop = VirtualLoop(seed)
        world = World(loop)

        async def story() -> None:
            await world.play()
            await world.bury()

        loop.run(story())
        return [(each.caller, each.tool, each.number) for each in world.sent]

    assert [sent(seed) for seed in range(20)] == [sent(seed) for seed in range(20)]


def test_a_resolver_that_reads_first_and_writes_then_is_found() -> None:
    """The mistake that all of this is for: it has to be seen, or the rest proves nothing."""
    found = [seed for seed in range(FOUND_WITHIN) if violations(seed, ReadThenWriteStore)]

    assert found
