"""The parts of the waiting room work on the same books, and take up what is in the store."""

from interlock.core.freezes import FreezeKind, Frozen
from interlock.core.lifecycle import ApprovalState
from tests.approve.rooms import AT_ONCE, BOB, Waiting, call, held


async def test_a_room_takes_up_what_the_last_one_left(room: Waiting) -> None:
    await room.room.desk.hold(held(call(1), AT_ONCE))
    room.clock.forward(1)
    await room.room.desk.hold(held(call(2), AT_ONCE))
    (first, _) = await room.rows()
    await room.room.approvers.approve(first.id, BOB)
    await room.room.freezer.freeze(Frozen(FreezeKind.ALL), "olga", "")
    after = room.again().room
    left = await after.load()

    assert left == 0
    assert [each.key.digest for each in after.register.board] == [call(2).digest]
    assert [each.approval for each in after.register.board.grants()] == [first.id]
    assert after.freezer.of(call()) == "everything"


async def test_all_parts_share_one_register(room: Waiting) -> None:
    await room.room.desk.hold(held(call(), AT_ONCE))
    await room.room.approvers.deny((await room.row()).id, BOB)

    assert room.room.desk.register is room.room.approvers.register is room.room.register
    assert (await room.row()).status is ApprovalState.DENIED
    assert len(room.register.board) == 0
