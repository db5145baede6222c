"""The check of a database that several gateways write to: a verdict for each log, and one for all."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from interlock.store.audit.anchor import ANCHOR
from interlock.store.audit.keys import PUBLIC
from interlock.store.audit.seals import Keep
from interlock.store.audit.verify import Span
from interlock.store.protocol import StoreUnavailable
from tests.store.approval_examples import approval, yes
from tests.store.audit.shared import ONE, OTHER, check, office, place, tamper, told
from tests.store.places import InDatabase


@pytest.fixture
async def two(database: InDatabase, tmp_path: Path) -> AsyncIterator[InDatabase]:
    """Two gateways on one database, in the folders `one` and `other`. What the one asked, the other answered."""
    async with office(database, tmp_path / "one") as one, office(database, tmp_path / "other", OTHER) as other:
        await one.fill(1, 10, every=5)
        await other.fill(101, 110, every=5)
        asked = approval(1)
        assert await one.store.approvals.add_approval(asked, told(asked))
        answer = yes(asked)
        assert await other.store.approvals.change_approval(answer.approval, told(answer.approval), answer.grant)
        for each in (one, other):
            await each.sealer.checkpoint()
        yield database


async def test_each_log_has_a_verdict_and_all_have_one(two: InDatabase, tmp_path: Path) -> None:
    found = check(two, tmp_path / "one")

    assert (found.intact, found.chain, found.records, found.anchored) == (True, ONE, 21, 21)
    (other,) = found.others
    assert (other.intact, other.chain, other.records, other.anchored) == (True, OTHER, 21, None)
    assert any("anchor is not here" in each for each in other.notes)
    assert any("genuine was not checked" in each for each in other.notes)


async def test_keys_and_anchors_of_all_gateways_prove_all_logs(two: InDatabase, tmp_path: Path) -> None:
    keys, anchor = tmp_path / "keys.pub", tmp_path / "all.jsonl"
    for made, name in ((keys, PUBLIC), (anchor, ANCHOR)):
        made.write_text("".join((tmp_path / each / name).read_text() for each in ("one", "other")))

    found = place(two, tmp_path / "one").check(anchor, keys=keys)

    assert [(each.intact, each.anchored, each.notes) for each in (found, *found.others)] == [(True, 21, [])] * 2


async def test_a_record_of_another_gateway_that_was_changed_breaks_that_log_alone(
    two: InDatabase, tmp_path: Path
) -> None:
    await tamper(two, f"UPDATE entry SET text = text || ' ' WHERE chain = '{OTHER}' AND seq = 7")  # noqa: S608

    found = check(two, tmp_path / "one")

    assert not found.intact
    assert found.broken is None
    assert found.others[0].broken is not None
    assert found.others[0].broken.seq == 7


async def test_a_log_written_anew_by_somebody_without_the_key_is_found_with_the_key(
    two: InDatabase, tmp_path: Path
) -> None:
    await tamper(two, f"UPDATE seal SET signature = decode(repeat('00', 64), 'hex') WHERE chain = '{OTHER}'")  # noqa: S608

    assert check(two, tmp_path / "one").intact
    found = place(two, tmp_path / "one").check(keys=tmp_path / "other" / PUBLIC, only=OTHER)
    assert found.broken is not None
    assert "not genuine" in found.broken.problem


async def test_the_end_of_the_own_log_cannot_be_cut_off_with_its_seals(two: InDatabase, tmp_path: Path) -> None:
    await tamper(
        two,
        f"DELETE FROM activity WHERE id IN (SELECT subject FROM entry WHERE chain = '{ONE}' AND seq > 10)",  # noqa: S608
        f"DELETE FROM entry WHERE chain = '{ONE}' AND seq > 10",  # noqa: S608
        f"DELETE FROM seal WHERE chain = '{ONE}' AND seq > 10",  # noqa: S608
    )

    found = check(two, tmp_path / "one")

    assert found.broken is not None
    assert found.broken.seq == 11


async def test_a_whole_log_that_is_gone_is_missed_by_its_anchor(two: InDatabase, tmp_path: Path) -> None:
    gone = [f"DELETE FROM {each} WHERE chain = '{OTHER}'" for each in ("entry", "seal", "activity")]  # noqa: S608
    await tamper(two, *gone, f"DELETE FROM chain WHERE id = '{OTHER}'")  # noqa: S608

    seen = check(two, tmp_path / "other", OTHER)
    assert seen.broken is not None
    assert seen.broken.seq == 1
    named = place(two, tmp_path / "one").check(tmp_path / "other" / ANCHOR)
    assert [each.chain for each in named.others if each.broken is not None] == [OTHER]


async def test_an_anchor_that_tells_of_none_of_the_logs_proves_nothing(two: InDatabase, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()

    with pytest.raises(ValueError, match="no genuine seal"):
        place(two, tmp_path / "one").check(empty)


@pytest.mark.parametrize("own", [False, True], ids=["named", "configured"])
async def test_an_anchor_that_tells_of_another_gateway_alone_does_not_prove_the_own_log(
    two: InDatabase, tmp_path: Path, own: bool
) -> None:
    theirs, keys = tmp_path / "other" / ANCHOR, tmp_path / "all.pub"
    keys.write_text("".join((tmp_path / each / PUBLIC).read_text() for each in ("one", "other")))

    with pytest.raises(ValueError, match="no genuine seal on this log"):
        place(two, tmp_path / "one").check(theirs, keys=keys, own=own)


async def test_a_log_without_a_seal_yet_needs_none_in_an_anchor_that_proves_the_others(
    two: InDatabase, tmp_path: Path
) -> None:
    found = place(two, tmp_path / "new", "cccccccccccccccc").check(tmp_path / "one" / ANCHOR)

    assert found.intact
    assert {each.chain: each.anchored for each in found.others} == {ONE: 21, OTHER: None}


async def test_the_log_of_another_gateway_is_not_missed_in_the_anchor_of_this_one(
    two: InDatabase, tmp_path: Path
) -> None:
    """Neither in the one beside its database nor in one that the configuration names."""
    one = tmp_path / "one"
    elsewhere = (one / ANCHOR).rename(tmp_path / "elsewhere.jsonl")
    for anchor in (one / ANCHOR, elsewhere):
        found = place(two, one).check(anchor, own=True, only=OTHER)

        assert (found.intact, found.anchored) == (True, None)
        assert not any("removed or emptied" in each for each in found.notes)
        assert any("its anchor is not here" in each for each in found.notes)
    with pytest.raises(ValueError, match="no genuine seal on this log"):
        place(two, one).check(elsewhere, only=OTHER)


async def test_a_folder_without_a_log_is_not_told_that_its_anchor_was_emptied(two: InDatabase, tmp_path: Path) -> None:
    found = check(two, tmp_path, None)

    assert found.intact
    assert not any("removed or emptied" in each for each in found.notes)


async def test_one_log_is_checked_by_its_name_and_a_stretch_of_it(two: InDatabase, tmp_path: Path) -> None:
    found = place(two, tmp_path / "one").check(span=Span(3, 4), only=OTHER)

    assert (found.chain, found.first, found.last, found.others) == (OTHER, 3, 10, [])
    with pytest.raises(ValueError, match=f"there are {ONE}, {OTHER}"):
        place(two, tmp_path / "one").check(only="cccccccccccccccc")


async def test_a_folder_without_a_log_of_its_own_sees_those_of_the_others(two: InDatabase, tmp_path: Path) -> None:
    found = place(two, tmp_path, None).check()

    assert found.intact
    assert [each.chain for each in (found, *found.others)] == [ONE, OTHER]


async def test_a_database_without_a_log_is_told_as_such(database: InDatabase, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="no log in the database"):
        place(database, tmp_path, None).check()


async def test_gateways_that_go_on_writing_and_sealing_raise_no_alarm(two: InDatabase, tmp_path: Path) -> None:
    """The anchor is read before the database is looked at, and the database at one moment."""
    async with office(two, tmp_path / "one") as one:
        for number in range(200, 205):
            await one.fill(number, number, every=1)
            assert check(two, tmp_path / "one").intact


async def test_what_one_gateway_removes_is_no_hole_in_what_the_other_told(two: InDatabase, tmp_path: Path) -> None:
    """The other answered last, so the approval leaves the list with the other's log; the one still tells of it."""
    async with office(two, tmp_path / "other", OTHER) as other:
        await other.fill(111, 112, every=1)
        assert await other.sealer.prune(Keep(records=1), "operator") is not None
        await other.sealer.checkpoint()

    found = check(two, tmp_path / "one")

    assert (found.broken, found.beside) == (None, [])
    assert found.others[0].pruned > 20


async def test_what_others_remove_excuses_nothing_that_was_over(two: InDatabase, tmp_path: Path) -> None:
    async with office(two, tmp_path / "other", OTHER) as other:
        await other.fill(111, 112, every=1)
        assert await other.sealer.prune(Keep(records=1), "operator") is not None
        await other.sealer.checkpoint()
    await tamper(two, f"DELETE FROM activity WHERE chain = '{ONE}' AND status = 'success'")  # noqa: S608

    found = check(two, tmp_path / "one")

    assert any("is missing in the list" in each for each in found.beside)
