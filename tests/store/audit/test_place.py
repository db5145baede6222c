"""Where a log lies: in the file of its folder, or in a database that gateways share."""

from pathlib import Path

import pytest

from interlock.store.audit.place import LogPlace, place_of
from interlock.store.folder import DataFolder
from tests.store.audit.logs import sealed_folder
from tests.store.audit.shared import ONE, OTHER, office, place
from tests.store.places import InDatabase


def test_a_run_of_the_lab_keeps_its_record_whatever_the_store_of_the_gateway(tmp_path: Path) -> None:
    gateway, run = DataFolder(tmp_path), DataFolder(tmp_path / "lab" / ("0" * 30))
    gateway.keep_chain(ONE)

    assert place_of(gateway, "sqlite") == LogPlace(tmp_path)
    assert place_of(gateway, "postgresql://h/d") == LogPlace(tmp_path, "postgresql://h/d", ONE)
    assert place_of(run, "postgresql://h/d") == LogPlace(run.path)


def test_the_address_is_not_shown(tmp_path: Path) -> None:
    assert "hunter2" not in repr(LogPlace(tmp_path, "postgresql://u:hunter2@h/d", ONE))


async def test_a_log_is_opened_wherever_it_is(database: InDatabase, tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path / "file")
    async with office(database, tmp_path / "one") as one:
        await one.fill(1, 2)

    with LogPlace(folder).open() as log:
        assert log.end == 40
    with place(database, tmp_path / "one").open(ONE) as log:
        assert (log.chain, log.end, len([*log.entries(1, 3)])) == (ONE, 4, 2)
    with place(database, tmp_path, None).open() as log:
        assert log.chain == ONE
    with pytest.raises(ValueError, match=f"there are {ONE}"), place(database, tmp_path).open(OTHER):
        pass


async def test_what_disagrees_is_found_in_both(database: InDatabase, tmp_path: Path) -> None:
    async with office(database, tmp_path / "one") as one:
        await one.fill(1, 2)
    assert place(database, tmp_path / "one").first_disagreement(0) is None

    await database.tell("UPDATE activity SET status = 'error' WHERE id = 'call-00001'")
    assert "call-00001" in (place(database, tmp_path / "one").first_disagreement(0) or "")
