"""`interlock db`: the care of the database, in a file and in PostgreSQL."""

import asyncio
import os
import shutil
import signal
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.store.folder import DATABASE, DataFolder
from interlock.store.migrate import migrate, migrations
from tests.cli.running import COMMAND, Interlock, environment
from tests.postgres_server import PostgresServer
from tests.store.audit.logs import sealed_folder, tamper
from tests.store.audit.shared import ONE, OTHER, office
from tests.store.places import InDatabase


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder on which no gateway runs, with a sealed log."""
    made = tmp_path / "log"
    asyncio.run(sealed_folder(made))
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(made))
    return made


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[InDatabase]:
    made = InDatabase(postgres)
    asyncio.run(made.__aenter__())
    yield made
    asyncio.run(made.__aexit__())


def test_a_laptop_grows_up_and_comes_back(
    il: Interlock, folder: Path, database: InDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = il("db", "copy", "sqlite", database.address)
    assert done.exit == 0, done.err
    assert "goes on there" in done.err

    monkeypatch.setenv("INTERLOCK_STORE", database.address)
    grown = il("audit", "verify", "--json")
    assert (grown.exit, grown.json["anchored"], grown.json["others"]) == (0, 40, [])
    assert il("audit", "checkpoint").exit == 0  # by a gateway that goes on there with the same log and anchor
    assert il("audit", "verify").lines[0] == "The log is intact."

    (folder / DATABASE).rename(folder / "old.db")
    assert il("db", "copy", database.address, "sqlite").exit == 0
    monkeypatch.delenv("INTERLOCK_STORE")
    back = il("audit", "verify", "--json")
    assert (back.exit, back.json["records"] > 40, back.json["notes"]) == (0, True, [])


def test_a_copy_never_replaces_anything_and_says_so(il: Interlock, folder: Path, database: InDatabase) -> None:
    assert il("db", "copy", "sqlite", database.address).exit == 0
    again, onto = il("db", "copy", "sqlite", database.address), il("db", "copy", database.address, "sqlite")

    assert (again.exit, onto.exit) == (2, 2)
    assert "has something in it" in again.err
    assert "there already" in onto.err


def test_what_a_gateway_works_on_is_not_copied_but_backed_up(il: Interlock, folder: Path, tmp_path: Path) -> None:
    with DataFolder(folder).hold():
        refused = il("db", "copy", "sqlite", str(tmp_path / "copy.db"))
        backed_up = il("db", "backup", str(tmp_path / "backup.db"))

    assert (refused.exit, backed_up.exit) == (2, 0)
    assert "interlock db backup" in refused.err
    assert not (tmp_path / "copy.db").exists()
    assert stat.S_IMODE((tmp_path / "backup.db").stat().st_mode) == 0o600
    assert il("db", "backup", str(tmp_path / "backup.db")).exit == 2


def test_a_backup_of_several_gateways_goes_back_to_postgresql(
    il: Interlock, database: InDatabase, postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fill() -> None:
        for name, chain, first in (("one", ONE, 1), ("other", OTHER, 101)):
            async with office(database, tmp_path / name, chain) as each:
                await each.fill(first, first + 3, every=2)

    asyncio.run(fill())
    DataFolder(tmp_path / "one").keep_chain(ONE)
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(tmp_path / "one"))
    monkeypatch.setenv("INTERLOCK_STORE", database.address)
    done = il("db", "backup", str(tmp_path / "backup.db"))
    assert (done.exit, "the logs of 2 gateways" in done.err) == (0, True)
    assert "PostgreSQL, where `interlock audit verify` checks them" in done.err
    assert il("db", "copy", str(tmp_path / "backup.db"), "sqlite").exit == 2

    _see_it_refused_in_a_folder(il, tmp_path, monkeypatch)
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(tmp_path / "one"))
    name = asyncio.run(postgres.new_database("template1"))
    assert il("db", "copy", str(tmp_path / "backup.db"), postgres.address(name)).exit == 0
    monkeypatch.setenv("INTERLOCK_STORE", postgres.address(name))
    assert il("audit", "verify").lines[0] == "All 2 logs are intact."
    asyncio.run(postgres.drop(name))


def _see_it_refused_in_a_folder(il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in it was changed, so nobody is told so; a row that was only added is still a break."""
    put = tmp_path / "put"
    put.mkdir(0o700)
    shutil.copy(tmp_path / "backup.db", put / DATABASE)
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(put))
    monkeypatch.setenv("INTERLOCK_STORE", "sqlite")
    done = il("audit", "verify")
    assert (done.exit, "BROKEN" in done.out) == (4, False)
    assert "there are 2 logs in one file" in done.err
    assert "interlock db copy" in done.err

    tamper(put, ("INSERT INTO chain VALUES ('cccccccccccccccc', 0)", ()))
    assert il("audit", "verify").exit == 21


def test_migrating_says_from_where_to_where_and_does_nothing_twice(
    il: Interlock, tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = migrations()[-1].version
    with sqlite3.connect(tmp_path / DATABASE, isolation_level=None) as made:
        migrate(made, migrations()[:-1])
    os.chmod(tmp_path / DATABASE, 0o600)
    name = asyncio.run(postgres.new_database("template1"))
    known = migrations("migrations/postgres")[-1].version
    for place, before, after in ((str(tmp_path), newest - 1, newest), (postgres.address(name), 0, known)):
        first, again = (il("db", "migrate", "--store", place) for _ in range(2))
        assert (first.exit, again.exit) == (0, 0)
        assert f"from version {before} to {after}" in first.err
        assert "nothing was done" in again.err
    assert il("db", "migrate", "--store", str(tmp_path / "nowhere.db")).exit == 4
    asyncio.run(postgres.drop(name))


def test_the_database_that_the_query_of_an_address_names_is_the_one_that_is_migrated_and_named(
    il: Interlock, postgres: PostgresServer
) -> None:
    name = asyncio.run(postgres.new_database("template1"))
    address = f"postgresql:///?host={postgres.folder}&user=postgres&dbname={name}"
    told = f"the database {name} in PostgreSQL at {postgres.folder}"
    done, again = il("db", "migrate", "--store", address), il("db", "migrate", "--store", address, "--json")
    looked, as_json = il("db", "check", "--store", address), il("db", "check", "--store", address, "--json")

    assert f"The{told.removeprefix('the')} was brought from version 0" in done.err
    assert again.json["store"] == as_json.json["store"] == told
    assert told in looked.err
    assert il("db", "check", "--store", postgres.address(name), "--json").json["well"]
    assert not il("db", "check", "--store", postgres.address("postgres"), "--json").json["well"]
    asyncio.run(postgres.drop(name))


def test_a_copy_and_a_backup_name_the_database_that_they_worked_on(
    il: Interlock, folder: Path, database: InDatabase, tmp_path: Path
) -> None:
    copied = il("db", "copy", "sqlite", database.address)
    backed_up = il("db", "backup", str(tmp_path / "backup.db"), "--store", database.address)

    assert f"copied from {folder / DATABASE} to the database {database.name} in PostgreSQL at /" in copied.err
    assert f"copied from the database {database.name} in PostgreSQL at /" in backed_up.err


def test_a_check_tells_what_is_well_and_ends_with_a_code_for_what_is_not(
    il: Interlock, folder: Path, database: InDatabase
) -> None:
    well, shared = il("db", "check", "--json"), il("db", "check", "--store", database.address)
    assert (well.exit, well.json["well"], shared.exit) == (0, True, 0)
    assert all(each.startswith("ok ") for each in shared.lines)

    tamper(folder, ("SELECT 1", ()), guarded=False)
    broken = il("db", "check")
    assert (broken.exit, [each.split()[1] for each in broken.lines if each.startswith("BAD")]) == (20, ["guards"])


@pytest.mark.parametrize(
    "words",
    [
        ("check", "--store", "{}"),
        ("migrate", "--store", "{}"),
        ("backup", "new.db", "--store", "{}"),
        ("copy", "{}", "new.db"),
        ("copy", "sqlite", "{}"),
    ],
)
def test_a_password_is_never_said(il: Interlock, folder: Path, words: tuple[str, ...]) -> None:
    for address in ("postgresql://u:hunter2@/db?host=/nowhere", "postgresql://u:hunter2@h:port/db"):
        done = il("db", *(each.format(address) for each in words))

        assert done.exit == 4
        assert "hunter2" not in done.out + done.err


@pytest.mark.parametrize(
    "words",
    [
        ("check", "--store", "{}"),
        ("migrate", "--store", "{}"),
        ("backup", "{}"),
        ("backup", "new.db", "--store", "{}"),
        ("copy", "{}", "new.db"),
        ("copy", "sqlite", "{}"),
    ],
)
def test_the_address_of_another_database_is_no_path(
    il: Interlock, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for address in ("mysql://me:hunter2@h/db", "me:hunter2@://db", "PostgreSQL://me:hunter2@h/db"):
        done = il("db", *(each.format(address) for each in words))

        assert done.exit == 2
        assert "address" in done.err
        assert not any(secret in done.out + done.err for secret in ("me:", "hunter2"))
        assert [*here.iterdir()] == []


def test_a_backup_makes_no_folder_where_a_disk_may_not_be_mounted(
    il: Interlock, folder: Path, database: InDatabase, tmp_path: Path
) -> None:
    file = tmp_path / "unmounted" / "x.db"
    for more in ((), ("--store", database.address)):
        done = il("db", "backup", str(file), *more)

        assert done.exit == 4
        assert f"{file} cannot be used: there is no folder {file.parent}" in done.err
        assert not file.parent.exists()


def test_what_cannot_be_used_is_named_and_not_the_other(
    il: Interlock, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = "postgresql://u:hunter2@/db?host=/nowhere"
    to, from_ = il("db", "copy", "sqlite", nowhere), il("db", "copy", nowhere, str(tmp_path / "new.db"))
    assert "The database db in PostgreSQL at /nowhere cannot be used: PostgreSQL:" in to.err
    assert DATABASE not in to.err
    assert "The database db in PostgreSQL at /nowhere cannot be used: PostgreSQL:" in from_.err

    monkeypatch.chdir(tmp_path)
    missing = il("db", "copy", "nofile.db", "new.db")
    assert (missing.exit, "nofile.db cannot be used" in missing.err) == (4, True)
    assert "Nofile" not in missing.err + il("db", "check", "--store", "nofile.db").err


def test_a_source_that_breaks_off_is_not_told_of_the_target(il: Interlock, folder: Path, tmp_path: Path) -> None:
    with sqlite3.connect(folder / DATABASE) as made:
        made.execute("DROP TABLE freeze")
    done = il("db", "copy", "sqlite", str(tmp_path / "new.db"))

    assert done.exit == 4
    assert f"{folder / DATABASE} cannot be used" in done.err
    assert "new.db" not in done.err


def test_nothing_is_said_twice_of_a_database_that_is_not_ours(
    il: Interlock, tmp_path: Path, database: InDatabase
) -> None:
    foreign, newer = tmp_path / "foreign.db", tmp_path / "newer.db"
    with sqlite3.connect(foreign) as made:
        made.execute("CREATE TABLE theirs (x)")
    with sqlite3.connect(newer, isolation_level=None) as made:
        migrate(made, migrations())
        made.execute("PRAGMA user_version = 999")
    asyncio.run(database.tell("DROP TABLE version"))
    for place in (str(foreign), str(newer), database.address):
        done = il("db", "migrate", "--store", place)

        assert done.exit == 4
        assert done.err.count("Nothing was changed") == 1


async def stopped_while_it_waits(database: InDatabase, folder: Path, *words: str) -> tuple[int | None, str]:
    """How a command ends by Ctrl-C that waits for a table which somebody has locked, and what it said."""
    connection = await database.connect()
    await connection.execute("BEGIN; LOCK TABLE interlock.approval IN ACCESS EXCLUSIVE MODE")
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *words, stderr=asyncio.subprocess.PIPE, env=environment(), cwd=folder
    )
    async with asyncio.timeout(30):
        while not await connection.fetchval("SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)"):
            assert process.returncode is None
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
    await connection.close()
    return process.returncode, err.decode()


@pytest.mark.usefixtures("interrupts_reach_children")
@pytest.mark.parametrize("words", [("copy", "sqlite", "{}"), ("backup", "new.db", "--store", "{}")])
def test_who_stops_a_copy_is_told_that_there_is_none(
    il: Interlock, folder: Path, database: InDatabase, tmp_path: Path, words: tuple[str, ...]
) -> None:
    asked = [each.format(database.address) for each in words]
    ended = asyncio.run(stopped_while_it_waits(database, tmp_path, "db", *asked))

    assert ended == (130, "Stopped. Nothing was copied: a copy is there as a whole or not at all.\n")
    assert not [*tmp_path.glob("new.db*")]
    assert il("db", "copy", "sqlite", database.address).exit == 0  # which it would not be if anything were there


def test_who_stops_a_backup_while_its_file_gets_its_name_is_not_told_that_there_is_none(
    il: Interlock, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "link", stopped)
    for words in (("backup", str(tmp_path / "new.db")), ("copy", "sqlite", str(tmp_path / "new.db"))):
        done = il("db", *words)

        assert (done.exit, "Nothing was copied" in done.err) == (130, False)
        assert "Stopped at the very end" in done.err


def test_a_newer_database_needs_a_newer_interlock(il: Interlock, folder: Path, database: InDatabase) -> None:
    asyncio.run(database.tell("INSERT INTO version (version) VALUES (999)"))
    check, copy = il("db", "check", "--store", database.address), il("db", "copy", database.address, "new.db")

    assert (check.exit, copy.exit) == (20, 4)
    assert "a newer Interlock is needed" in check.out
    assert "install the Interlock that wrote it" in copy.err
    assert "migrate" not in check.out + copy.err
