"""A whole store from one place to another, and what proves it afterwards."""

import asyncio
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from interlock.core.lifecycle import CallState
from interlock.store.audit.anchor import ANCHOR
from interlock.store.audit.keys import PUBLIC
from interlock.store.audit.seals import Keep
from interlock.store.copying.copy import InUse, Occupied, Place, SeveralLogs, copy_store, place_at
from interlock.store.folder import DATABASE, DataFolder
from interlock.store.protocol import StoreUnavailable
from tests.postgres_server import PostgresServer
from tests.store.audit.logs import Office, check, tamper
from tests.store.audit.shared import OTHER, office
from tests.store.audit.shared import check as check_shared
from tests.store.copying.stores import everything, file_in, fill, filled_folder
from tests.store.places import InDatabase


def quiet(_table: str, _done: int, _total: int) -> None:
    pass


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[InDatabase]:
    """A migrated database without anything in it."""
    made = InDatabase(postgres)
    asyncio.run(made.__aenter__())
    yield made
    asyncio.run(made.__aexit__())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return asyncio.run(filled_folder(tmp_path / "laptop"))


def handed_over(folder: Path, to: Path) -> Path:
    """A folder with the keys and the anchor of another."""
    to.mkdir()
    for each in (PUBLIC, ANCHOR):
        shutil.copy(folder / each, to / each)
    return to


def chain_in(place: Place) -> str:
    ((chain, _),) = everything(place)["chain"]
    return str(chain)


def test_a_laptop_grows_up_and_the_same_anchor_proves_it(folder: Path, database: InDatabase, tmp_path: Path) -> None:
    source, target = file_in(folder), Place(address=database.address)
    told: list[tuple[str, int, int]] = []
    copied = copy_store(source, target, lambda table, done, total: told.append((table, done, total)))

    assert everything(target) == everything(source)
    assert all(everything(source).values()), "a table of the example is empty"
    found = check_shared(database, folder, copied.chains[0])
    assert (found.intact, found.anchored, found.notes) == (True, found.last, [])
    assert told[-1][1:] == (copied.rows, copied.rows)

    back = handed_over(folder, tmp_path / "back")
    copy_store(target, file_in(back), quiet)
    assert everything(file_in(back)) == everything(source)
    assert check(back).intact


def test_a_gateway_goes_on_with_the_copy(folder: Path, database: InDatabase, tmp_path: Path) -> None:
    copied = copy_store(file_in(folder), Place(address=database.address), quiet)

    async def go_on() -> None:
        async with office(database, folder, copied.chains[0]) as each:
            await each.fill(500, 502, every=1)

    asyncio.run(go_on())
    assert check_shared(database, folder, copied.chains[0]).intact


def test_a_log_of_which_the_oldest_part_was_removed_comes_over_as_it_is(
    folder: Path, database: InDatabase, tmp_path: Path
) -> None:
    async def prune() -> None:
        async with Office(folder) as each:
            assert await each.sealer.prune(Keep(records=8), "olga")
            await each.sealer.checkpoint()

    asyncio.run(prune())
    copied = copy_store(file_in(folder), Place(address=database.address), quiet)
    back = handed_over(folder, tmp_path / "back")
    copy_store(Place(address=database.address), file_in(back), quiet)

    for found in (check_shared(database, folder, copied.chains[0]), check(back)):
        assert found.intact
        assert found.pruned > 0


@pytest.fixture
def two(database: InDatabase, tmp_path: Path) -> InDatabase:
    """The logs of two gateways, of which one told how calls of the other ended."""

    async def filled() -> None:
        async with office(database, tmp_path / "one") as one, office(database, tmp_path / "other", OTHER) as other:
            await fill(one)
            await fill(other, 101)
            left = await one.store.open_activities()
            assert left
            await other.store.write([replace(each, status=CallState.INDETERMINATE) for each in left])
            await other.sealer.checkpoint()

    asyncio.run(filled())
    return database


def test_a_backup_of_several_logs_is_a_private_file_that_can_be_brought_back(
    two: InDatabase, postgres: PostgresServer, tmp_path: Path
) -> None:
    backup, source = Place(tmp_path / "backup.db"), Place(address=two.address)
    copy_store(source, backup, quiet)
    assert backup.file is not None
    assert stat.S_IMODE(backup.file.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.glob("backup.db*")] == ["backup.db"]

    restored = InDatabase(postgres)
    asyncio.run(restored.__aenter__())
    copy_store(backup, Place(address=restored.address), quiet)
    assert everything(Place(address=restored.address)) == everything(source)
    assert check_shared(restored, tmp_path / "one").intact
    asyncio.run(restored.__aexit__())


def test_a_gateway_on_a_file_goes_on_with_one_log(two: InDatabase, tmp_path: Path) -> None:
    with pytest.raises(SeveralLogs):
        copy_store(Place(address=two.address), file_in(tmp_path / "new"), quiet)

    assert not (tmp_path / "new").exists()


def test_nothing_that_is_there_is_replaced(folder: Path, database: InDatabase, tmp_path: Path) -> None:
    target = Place(address=database.address)
    copy_store(file_in(folder), target, quiet)
    before = everything(target)
    with pytest.raises(Occupied, match="table chain"):
        copy_store(file_in(folder), target, quiet)
    assert everything(target) == before

    (tmp_path / "there").write_text("mine")
    for taken in (tmp_path / "there", folder / DATABASE):
        with pytest.raises(Occupied, match="there already"):
            copy_store(target, Place(taken), quiet)
    assert (tmp_path / "there").read_text() == "mine"


def test_a_store_that_a_gateway_writes_to_is_not_copied_but_can_be_backed_up(
    folder: Path, database: InDatabase, tmp_path: Path
) -> None:
    target = Place(address=database.address)
    with DataFolder(folder).hold(), pytest.raises(InUse):
        copy_store(file_in(folder), target, quiet)
    assert not everything(target)["entry"]

    async def running() -> None:
        async with office(database, tmp_path / "one") as one:
            await one.fill(1, 1)
            with pytest.raises(InUse):
                await asyncio.to_thread(copy_store, target, Place(tmp_path / "copy.db"), quiet)
            assert not (tmp_path / "copy.db").exists()
            await asyncio.to_thread(lambda: copy_store(target, Place(tmp_path / "backup.db"), quiet, running=True))

    asyncio.run(running())
    assert len(everything(Place(tmp_path / "backup.db"))["entry"]) == 2


class BrokenOff(Exception):
    """The process was stopped in the middle."""


@pytest.mark.parametrize("table", ["entry", "granted", "freeze"])
def test_a_copy_that_is_broken_off_leaves_nothing(
    folder: Path, database: InDatabase, tmp_path: Path, table: str
) -> None:
    def stop(at: str, _done: int, _total: int) -> None:
        if at == table:
            raise BrokenOff

    target = Place(address=database.address)
    with pytest.raises(BrokenOff):
        copy_store(file_in(folder), target, stop)
    assert not any(everything(target).values())
    with pytest.raises(BrokenOff):
        copy_store(file_in(folder), Place(tmp_path / "new" / DATABASE, goes_on=True), stop)
    assert [*(tmp_path / "new").iterdir()] == []

    copied = copy_store(file_in(folder), target, quiet)
    assert check_shared(database, folder, copied.chains[0]).intact, "the guards were not put up again"


def test_a_text_that_is_none_is_told_and_nothing_is_made(folder: Path, database: InDatabase, tmp_path: Path) -> None:
    tamper(folder, ("UPDATE entry SET text = CAST(x'ff' AS TEXT) WHERE seq = 3", ()))
    for target in (Place(address=database.address), Place(tmp_path / "new.db")):
        with pytest.raises(StoreUnavailable, match="A text in it is none"):
            copy_store(file_in(folder), target, quiet)
    assert not any(everything(Place(address=database.address)).values())
    assert not (tmp_path / "new.db").exists()


def test_a_place_is_named_in_one_of_three_ways(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)

    assert place_at("sqlite", folder) == Place(tmp_path / DATABASE, goes_on=True)
    assert place_at(str(tmp_path), folder) == Place(tmp_path / DATABASE, goes_on=True)
    assert place_at("backup.db", folder) == Place(Path("backup.db"))
    assert place_at("postgresql://u:hunter2@h/d", folder) == Place(address="postgresql://u:hunter2@h/d")
    assert "hunter2" not in repr(place_at("postgres://u:hunter2@h/d", folder))
