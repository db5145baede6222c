"""When the log is sealed, what happens when it cannot be, and how its oldest part goes."""

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from interlock.clock import SystemClock
from interlock.core.lifecycle import CallState
from interlock.store.audit import sealer
from interlock.store.audit.anchor import ANCHOR, seals_in
from interlock.store.audit.check import check_folder
from interlock.store.audit.keys import PRIVATE, PUBLIC, folder_keys, open_key
from interlock.store.audit.seal import Seal, SealKind
from interlock.store.audit.seals import Keep
from interlock.store.folder import DATABASE
from interlock.store.protocol import ActivityFilter, StoreUnavailable
from tests.store.audit.logs import Office, call, check, sealed_folder, tamper
from tests.store.examples import NOW, TickingClock

pytestmark = pytest.mark.anyio
T = TypeVar("T")


async def until(ask: Callable[[], Awaitable[T | None]]) -> T:
    """What is answered as soon as something is."""
    async with asyncio.timeout(20):
        while (found := await ask()) is None:  # noqa: ASYNC110 - what is waited for is in the database
            await asyncio.sleep(0)
    return found


def sealed_at(office: Office, seq: int) -> Callable[[], Awaitable[Seal | None]]:
    async def ask() -> Seal | None:
        last = await office.store.seals.last(SealKind.CHECKPOINT)
        return last if last is not None and last.seq >= seq else None

    return ask


# When -----------------------------------------------------------------------------------------------------------


async def test_a_checkpoint_comes_with_every_so_many_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealer, "RECORDS", 10)
    async with Office(tmp_path) as office, office.sealer.running():
        await office.store.write([call(1)])
        first = await until(sealed_at(office, 1))
        await office.store.write([call(number) for number in range(2, 11)])
        early = await office.store.seals.last(SealKind.CHECKPOINT)
        await office.store.write([call(11)])
        made = await until(sealed_at(office, 11))

    assert (first.seq, early, made.seq) == (1, first, 11)
    assert (sealer.SECONDS, 1000) == (60.0, 1000)


async def test_a_checkpoint_comes_after_a_while_however_few_entries_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealer, "SECONDS", 0)
    async with Office(tmp_path) as office, office.sealer.running():
        await office.fill(1, 1)
        await until(sealed_at(office, 2))
        await office.fill(2, 2)
        made = await until(sealed_at(office, 4))

    assert made.seq == 4


async def test_a_log_that_was_closed_in_order_is_sealed_to_its_last_entry(tmp_path: Path) -> None:
    async with Office(tmp_path) as office, office.sealer.running():
        office.store.write_soon([call(1), call(2), call(3)])

    assert (check(tmp_path).sealed, check(tmp_path).unsealed) == (3, 0)


async def test_the_first_entry_of_a_log_and_what_a_crash_left_are_sealed_at_once(tmp_path: Path) -> None:
    waits = asyncio.Event()
    async with Office(tmp_path) as office:
        grown = office.store.seals.grown

        async def noted(to: int) -> None:
            waits.set()
            await grown(to)

        office.store.seals.grown = noted  # type: ignore[method-assign] - the start is over when it waits
        async with office.sealer.running():
            await waits.wait()
            await office.fill(1, 1)
            await until(sealed_at(office, 1))
        await office.fill(2, 2)
    async with Office(tmp_path) as office, office.sealer.running():
        made = await until(sealed_at(office, 4))

    assert made.seq == 4


async def test_a_process_killed_at_any_step_of_the_first_seal_leaves_a_log_that_raises_no_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    steps = ("keys._put", "keys.SealKey", "sealer.Sealer._set", "anchor.Anchor.append", "sealer.publish")
    for step in (*steps, "sqlite"):
        folder = tmp_path / step
        async with Office(folder) as office:
            await office.fill(1, 1)
            with monkeypatch.context() as patch:
                target = f"interlock.store.audit.{step}" if step in steps else "interlock.store.sql_seals.Guard"
                patch.setattr(target, die)
                with pytest.raises(Killed):
                    await office.sealer.checkpoint()
        left = check_folder(folder, folder / ANCHOR, own=True)
        async with Office(folder) as office, office.sealer.running():
            await office.fill(2, 2)
        ended = check_folder(folder, folder / ANCHOR, own=True)

        assert left.intact, (step, left)
        assert (ended.intact, ended.sealed) == (True, 4), (step, ended)
        assert folder_keys(folder).have_sealed


async def test_a_seal_that_a_crash_left_in_the_anchor_alone_comes_into_the_log_before_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    async with Office(tmp_path) as office:
        await office.fill(1, 4, every=2)
        await office.fill(5, 5)
        with monkeypatch.context() as patch:
            patch.setattr("interlock.store.sql_seals.Guard", die)
            with pytest.raises(Killed):
                await office.sealer.checkpoint()
    left = check(tmp_path)
    async with Office(tmp_path) as office:
        await office.fill(6, 6)
        async with office.sealer.running():
            await until(sealed_at(office, 12))
    ended = check(tmp_path)

    assert (left.intact, left.sealed, left.anchored, len(left.notes)) == (True, 8, 10, 1)
    assert (ended.intact, ended.checkpoints, ended.sealed, ended.notes) == (True, 4, 12, [])


async def test_a_seal_that_the_store_did_not_take_comes_into_it_before_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreUnavailable("no room")

    async with Office(tmp_path) as office:
        await office.fill(1, 1)
        with monkeypatch.context() as patch:
            patch.setattr("interlock.store.sql_seals.Guard", fail)
            with pytest.raises(StoreUnavailable):
                await office.sealer.checkpoint()
        await office.fill(2, 2)
        await office.sealer.checkpoint()
    found = check(tmp_path)

    assert (found.intact, found.checkpoints, found.notes) == (True, 2, [])


async def test_a_seal_in_the_anchor_that_is_not_genuine_is_not_taken_up(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    async with Office(tmp_path) as office:
        await office.fill(1, 2, every=1)
        await office.fill(3, 3)
        place = await office.store.seals.place()
        assert place is not None
        forged = open_key(theirs).seal(SealKind.CHECKPOINT, office.store.seals.chain, place.seq, place.hash, 1)
        office.anchor.append(forged)
        async with office.sealer.running():
            made = await until(sealed_at(office, 6))

    assert made.key != forged.key


async def test_a_seal_in_the_anchor_that_no_key_can_tell_of_is_not_taken_up_and_that_is_told(tmp_path: Path) -> None:
    async with Office(tmp_path) as office:
        await office.fill(1, 2, every=1)
        tamper(tmp_path, ("DELETE FROM seal WHERE seq = 4", ()))
        (tmp_path / PUBLIC).write_text("no key")
        await office.sealer.compare_with_anchor()

    assert office.sealer.problem is not None
    assert "something else than public keys" in office.sealer.problem


async def test_nothing_new_is_not_sealed_again(tmp_path: Path) -> None:
    async with Office(tmp_path) as office:
        nothing = await office.sealer.checkpoint()
        await office.fill(1, 1)
        first, second = await office.sealer.checkpoint(), await office.sealer.checkpoint()

    assert (nothing, first) == (None, second)
    assert len(list(seals_in(tmp_path / ANCHOR))) == 1


async def test_who_only_looks_makes_no_key(tmp_path: Path) -> None:
    async with Office(tmp_path) as office, office.sealer.running():
        pass

    assert not (tmp_path / PRIVATE).exists()


# When it cannot -------------------------------------------------------------------------------------------------


async def test_a_seal_that_cannot_be_anchored_is_not_set_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sealer, "SECONDS", 0)
    monkeypatch.setattr(sealer, "AGAIN_SECONDS", 0)
    elsewhere = tmp_path / "not-yet" / "anchor"
    async with Office(tmp_path) as office:
        office.anchor.file = elsewhere
        async with office.sealer.running():
            await office.fill(1, 1)
            problem = await until(lambda: _of(office.sealer.problem))
            unsealed = await office.store.seals.last(SealKind.CHECKPOINT)
            elsewhere.parent.mkdir()
            await until(sealed_at(office, 2))
            await until(lambda: _is_well(office))

    assert "No such file" in problem
    assert unsealed is None
    assert [each.levelno for each in caplog.records] == [logging.WARNING]


async def _is_well(office: Office) -> bool | None:
    return True if office.sealer.problem is None else None


async def _of(value: str | None) -> str | None:
    return value


async def test_a_store_that_is_closed_is_a_problem_and_no_end(tmp_path: Path) -> None:
    office = Office(tmp_path)
    await office.store.start()
    async with office.sealer.running():
        await office.store.close()
        problem = await until(lambda: _of(office.sealer.problem))

    assert problem == "The store is not open."


# Against the anchor, at the start -------------------------------------------------------------------------------


async def test_a_log_that_the_anchor_knows_longer_is_told_at_the_next_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = await sealed_folder(tmp_path)
    tamper(folder, ("DELETE FROM entry WHERE seq > 30", ()), ("DELETE FROM seal WHERE seq > 30", ()))
    async with Office(folder) as office, office.sealer.running():
        (told,) = (await office.store.list_activities(ActivityFilter(statuses=(CallState.ERROR,)))).items

    assert told.body["event"] == "log_disagrees"
    assert "ends before entry 40" in str(told.body["text"])
    assert "was cut off" in caplog.text


@pytest.mark.parametrize(("more", "said"), [(1, "ends before entry 40"), (12, "Entry 40 of the log is not the one")])
async def test_that_a_log_was_cut_off_is_told_however_often_it_was_sealed_since(
    tmp_path: Path, more: int, said: str
) -> None:
    folder = await sealed_folder(tmp_path)
    tamper(folder, ("DELETE FROM entry WHERE seq > 30", ()), ("DELETE FROM seal WHERE seq > 30", ()))
    told: list[str | None] = []
    for start in range(3):
        async with Office(folder) as office, office.sealer.running():
            told.append(office.sealer.disagreement)
            await office.fill(21, 20 + (more if start == 1 else 1))

    assert all(each is not None for each in told)
    assert said in (told[-1] or "")


async def test_that_an_older_database_was_put_in_place_is_told_once_while_the_gateway_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Office(tmp_path) as office, office.sealer.running():
        await office.fill(1, 20, every=5)
        tamper(tmp_path, ("DELETE FROM entry WHERE seq > 30", ()), ("DELETE FROM seal WHERE seq > 30", ()))
        await office.fill(21, 23, every=1)
        said = office.sealer.disagreement or ""
        told = (await office.store.list_activities(ActivityFilter(statuses=(CallState.ERROR,)))).items

    assert "ends before entry 40" in said
    assert [each.body["event"] for each in told] == ["log_disagrees"]
    assert caplog.text.count("was cut off") == 1


async def test_another_record_than_the_anchor_knows_is_told(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path)
    tamper(folder, ("UPDATE entry SET hash = zeroblob(32) WHERE seq = 40", ()))
    async with Office(folder) as office:
        await office.sealer.compare_with_anchor()

    assert "is not the one that the anchor" in (office.sealer.disagreement or "")


async def test_another_log_than_the_anchor_knows_is_told(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path)
    (folder / DATABASE).unlink()
    async with Office(folder) as office:
        await office.sealer.compare_with_anchor()

    assert "tells of another log" in (office.sealer.disagreement or "")


async def test_a_log_that_agrees_with_its_anchor_is_not_talked_about(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path)
    async with Office(folder) as office:
        before = await office.store.log_end()
        await office.sealer.compare_with_anchor()
        said = office.sealer.disagreement
        await office.sealer.prune(Keep(records=1), "operator")
        await office.sealer.compare_with_anchor()
        pruned = office.sealer.disagreement

    assert (said, pruned, before) == (None, None, 40)


async def test_an_anchor_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / ANCHOR).mkdir()
    async with Office(tmp_path) as office:
        await office.sealer.compare_with_anchor()

    assert office.sealer.problem is not None


# Pruning --------------------------------------------------------------------------------------------------------


async def test_what_is_removed_ends_at_a_checkpoint_and_is_told_in_the_log(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path)
    async with Office(folder) as office:
        pruned = await office.sealer.prune(Keep(records=15), "olga")
        (told,) = [each for each in await office.store.log_entries(0, 100) if "log_pruned" in each.text]
        listed = (await office.store.list_activities(ActivityFilter())).items
        left = [each.id for each in listed]

    assert pruned is not None
    assert (pruned.kind, pruned.seq) == (SealKind.PRUNED, 20)
    assert '"by":"olga"' in told.text
    assert [each.caller for each in listed if each.body.get("event") == "log_pruned"] == ["olga"]
    assert [each for each in left if each.startswith("call")] == [f"call-{n:05}" for n in range(20, 10, -1)]
    assert check(folder).intact


async def test_a_call_that_began_before_the_cut_and_ended_after_it_stays_in_the_list(tmp_path: Path) -> None:
    async with Office(tmp_path) as office:
        await office.store.write([call(1), call(2, CallState.SENT)])
        await office.sealer.checkpoint()
        await office.store.write([call(2), call(3)])
        pruned = await office.sealer.prune(Keep(records=1), "olga")
        listed = await office.store.get_activity("call-00002")

    assert pruned is not None
    assert listed is not None
    assert check(tmp_path).intact


async def test_a_call_that_is_under_way_is_not_removed(tmp_path: Path) -> None:
    async with Office(tmp_path) as office:
        await office.store.write([call(1), call(2, CallState.SENT)])
        await office.sealer.checkpoint()
        await office.store.write([call(3)])

        assert await office.sealer.prune(Keep(records=1), "olga") is None


async def test_a_removal_that_was_cut_short_is_finished_at_the_next_start(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path)

    class Died(Exception):
        pass

    async def die(upto: int, most: int) -> int:
        raise Died

    async with Office(folder) as office:
        office.store.seals.shed = die  # type: ignore[method-assign] - the process dies here
        with pytest.raises(Died):
            await office.sealer.prune(Keep(records=15), "olga")
    halfway = check(folder)
    async with Office(folder) as office, office.sealer.running():
        await until(lambda: _gone(office))

    assert (halfway.intact, halfway.first) == (True, 1)
    assert (check(folder).intact, check(folder).first) == (True, 21)


async def _gone(office: Office) -> bool | None:
    return True if (await office.store.log_entries(0, 1))[0].seq == 21 else None


async def test_what_is_older_than_is_to_be_kept_goes_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealer, "PRUNE_AFTER_SECONDS", 0)
    folder = await sealed_folder(tmp_path)
    later = TickingClock()
    while later.now() < NOW + 1000:
        pass
    async with Office(folder, later) as office:
        office.sealer.keep_days = lambda: 0
        async with office.sealer.running():
            await until(lambda: office.store.seals.last(SealKind.PRUNED))

    assert check(folder).intact
    assert check(folder).pruned == 30


async def test_who_only_looks_into_an_old_log_removes_nothing(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path)
    async with Office(folder, SystemClock()) as office:
        office.sealer.keep_days = lambda: 1
        async with office.sealer.running():
            await office.fill(21, 40)

    assert (check(folder).pruned, check(folder).first) == (0, 1)


async def test_nothing_is_removed_without_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealer, "PRUNE_AFTER_SECONDS", 0)
    folder = await sealed_folder(tmp_path)
    async with Office(folder) as office, office.sealer.running():
        await office.fill(21, 21)

    assert (check(folder).pruned, check(folder).first) == (0, 1)


async def test_a_removal_that_cannot_be_anchored_removes_nothing(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path)
    async with Office(folder) as office:
        office.anchor.file = tmp_path / "none" / "anchor"
        with pytest.raises(OSError, match="No such file"):
            await office.sealer.prune(Keep(records=1), "olga")

        assert await office.store.log_end() == 40
    assert check(folder).intact


CHANGED = ("UPDATE entry SET text = replace(text, 'note 2', 'note 9') WHERE seq = 3", ())


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (CHANGED, "record 3: it was changed after it was written"),
        (("DELETE FROM entry WHERE seq = 1", ()), "record 1: it is missing"),
        (("UPDATE seal SET at = 1 WHERE seq = 10", ()), "record 10: its seal was changed after it was written"),
    ],
)
async def test_what_does_not_hold_is_not_removed(tmp_path: Path, what: tuple[str, tuple[()]], said: str) -> None:
    folder = await sealed_folder(tmp_path)
    tamper(folder, what)
    before = check(folder)
    async with Office(folder) as office:
        with pytest.raises(sealer.NotIntact, match=said):
            await office.sealer.prune(Keep(records=3), "olga")

    assert (check(folder), before.intact) == (before, False)


async def test_what_the_anchor_knows_otherwise_is_not_removed(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path / "log")
    older = await sealed_folder(tmp_path / "older", calls=5)
    shutil.copy(folder / ANCHOR, older / ANCHOR)
    async with Office(older) as office:
        await office.fill(6, 15, every=5)
        with pytest.raises(sealer.NotIntact, match="its seal is"):
            await office.sealer.prune(Keep(records=3), "olga")


async def test_an_anchor_that_says_nothing_lets_nothing_go(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path)
    (folder / "elsewhere").touch()
    async with Office(folder) as office:
        office.anchor.file = folder / "elsewhere"
        with pytest.raises(sealer.NotIntact, match="no genuine seal"):
            await office.sealer.prune(Keep(records=3), "olga")

    assert check(folder).first == 1


async def test_what_is_changed_after_the_cut_does_not_keep_what_is_before_it(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path)
    tamper(folder, ("UPDATE entry SET text = '{}' WHERE seq = 35", ()))
    async with Office(folder) as office:
        await office.sealer.prune(Keep(records=15), "olga")
    found = check(folder)

    assert found.broken is not None
    assert (found.pruned, found.first, found.broken.seq) == (20, 21, 35)


async def test_what_would_go_by_itself_and_does_not_hold_is_put_on_record_and_said_aloud(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealer, "PRUNE_AFTER_SECONDS", 0)
    folder = await sealed_folder(tmp_path)
    tamper(folder, CHANGED)
    later = TickingClock()
    while later.now() < NOW + 1000:
        pass
    failed = ActivityFilter(statuses=(CallState.ERROR,))

    async def told() -> str | None:
        items = (await office.store.list_activities(failed)).items
        return str(items[0].body["text"]) if items else None

    async with Office(folder, later) as office:
        office.sealer.keep_days = lambda: 0
        async with office.sealer.running():
            said = await until(told)

    assert said.startswith("Nothing was removed by keep_days, because the log does not hold: record 3: ")
    assert said in caplog.text
    assert check(folder).first == 1
