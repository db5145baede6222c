"""A file as the source and the target of a copy, and its backup while a gateway writes."""

import asyncio
import sqlite3
import stat
from pathlib import Path

import pytest

from interlock.store.audit.anchor import ANCHOR
from interlock.store.audit.keys import PUBLIC
from interlock.store.copying import sqlite_copy
from interlock.store.copying.copy import Place
from interlock.store.copying.sqlite_copy import back_up, sqlite_target
from interlock.store.folder import DATABASE
from interlock.store.migrate import migrate, migrations
from interlock.store.protocol import StoreUnavailable
from tests.store.audit.logs import Office, check
from tests.store.copying.stores import everything, file_in, filled_folder


def quiet(_done: int, _total: int) -> None:
    pass


async def test_a_backup_beside_a_running_gateway_is_private_and_proven_by_the_anchor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_copy, "PAGES", 10)
    folder, copy = await filled_folder(tmp_path / "log"), tmp_path / "copy"
    copy.mkdir()
    async with Office(folder) as office:
        # What is written while pages are copied is not in it, and does not make it begin anew.
        wrote: list[int] = []
        loop = asyncio.get_running_loop()

        def write_more(done: int, _total: int) -> None:
            assert len(wrote) < 100, "it begins anew"
            asyncio.run_coroutine_threadsafe(office.fill(900 + len(wrote), 900 + len(wrote)), loop).result(20)
            wrote.append(done)

        before = everything(file_in(folder))
        await asyncio.to_thread(back_up, folder / DATABASE, copy / DATABASE, write_more)
        assert len(wrote) > 2

    assert everything(file_in(copy)) == before
    assert stat.S_IMODE((copy / DATABASE).stat().st_mode) == 0o600
    assert [each.name for each in copy.iterdir()] == [DATABASE]
    for each in (PUBLIC, ANCHOR):
        (copy / each).write_bytes((folder / each).read_bytes())
    assert check(copy).intact


async def test_a_backup_replaces_nothing(tmp_path: Path) -> None:
    folder = await filled_folder(tmp_path / "log")
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for each in ("mine", "link"):
        with pytest.raises(FileExistsError):
            back_up(folder / DATABASE, tmp_path / each, quiet)

    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_what_is_no_database_of_ours_is_not_backed_up(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database at all, and rather long for one" * 50)
    for each in ("text", "nowhere"):
        with pytest.raises(StoreUnavailable):
            back_up(tmp_path / each, tmp_path / "copy", quiet)

    assert not (tmp_path / "copy").exists()


def test_two_who_make_the_same_file_do_not_replace_each_other(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError), sqlite_target(tmp_path / "new.db"):
        (tmp_path / "new.db").write_text("faster")

    assert (tmp_path / "new.db").read_text() == "faster"
    assert [each.name for each in tmp_path.iterdir()] == ["new.db"]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    file = tmp_path / "file" / "a" / "new.db"
    with pytest.raises(StoreUnavailable, match="Not a directory"), sqlite_target(file, in_new_folder=True):
        pass


async def test_an_older_file_is_not_copied_before_it_is_migrated(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "old.db", isolation_level=None) as made:
        migrate(made, migrations()[:-1])
    with pytest.raises(StoreUnavailable, match="interlock db migrate"):
        everything(Place(tmp_path / "old.db"))
