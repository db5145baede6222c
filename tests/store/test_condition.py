"""How a store is doing, and that looking changes nothing."""

import sqlite3
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path

import pytest

from interlock.store import condition
from interlock.store.condition import Look, look_at_database, look_at_file
from interlock.store.folder import DATABASE
from interlock.store.migrate import migrate, migrations
from interlock.store.protocol import StoreUnavailable
from tests.postgres_server import PostgresServer
from tests.store.audit.logs import sealed_folder, tamper
from tests.store.places import InDatabase

ROLE = files("interlock.store").joinpath("postgres_role.sql").read_text(encoding="utf-8")


def bad(looks: list[Look]) -> dict[str, str]:
    return {each.name: each.told for each in looks if not each.well}


async def test_a_file_that_is_well(tmp_path: Path) -> None:
    looks = look_at_file(await sealed_folder(tmp_path) / DATABASE)

    assert bad(looks) == {}
    assert [each.name for each in looks] == ["connect", "version", "integrity", "guards", "writable", "room"]


async def test_a_file_whose_guards_were_taken_off(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path)
    tamper(folder, ("SELECT 1", ()), guarded=False)

    assert "'entry_stays' of the database is gone" in bad(look_at_file(folder / DATABASE))["guards"]


def test_a_file_of_an_older_version(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / DATABASE, isolation_level=None) as made:
        migrate(made, migrations()[:-1])

    assert "interlock db migrate" in bad(look_at_file(tmp_path / DATABASE))["version"]


async def test_a_file_that_is_damaged_or_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = await sealed_folder(tmp_path)
    monkeypatch.setattr(condition, "LEAST_FREE", 2**80)
    with sqlite3.connect(folder / DATABASE) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET rootpage = 3 WHERE name = 'activity_at'")
    found = bad(look_at_file(folder / DATABASE))

    assert found.keys() >= {"integrity", "room"}


async def test_a_file_that_another_process_does_not_let_go_of_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = await sealed_folder(tmp_path)
    monkeypatch.setattr(condition, "PATIENCE", 0.0)
    with sqlite3.connect(folder / DATABASE, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        assert "locked" in bad(look_at_file(folder / DATABASE))["writable"]


def test_what_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not one" * 1000)
    for each in ("text", "nowhere"):
        with pytest.raises(StoreUnavailable):
            look_at_file(tmp_path / each)


# In PostgreSQL --------------------------------------------------------------------------------------------------


@pytest.fixture
async def login(database: InDatabase) -> AsyncIterator[str]:
    """A role without any rights yet."""
    name = f"looking_{database.name}"
    await database.tell(ROLE, f"CREATE ROLE {name} LOGIN", f"GRANT USAGE ON SCHEMA interlock TO {name}")
    yield name
    await database.tell(f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def told(looks: list[Look], name: str) -> str:
    return next(each.told for each in looks if each.name == name)


async def test_a_database_that_is_well_and_what_its_role_may_do(database: InDatabase, login: str) -> None:
    owned = look_at_database(database.address)
    assert bad(owned) == {}
    assert [each.name for each in owned] == ["connect", "version", "guards", "writable", "rights", "room"]
    assert "owns the tables" in told(owned, "rights")

    await database.tell(f"GRANT SELECT ON interlock.version TO {login}")
    assert "may not write" in bad(look_at_database(database.address_of(login)))["writable"]
    await database.tell(f"GRANT interlock_gateway TO {login}")
    gateway = look_at_database(database.address_of(login))
    assert (bad(gateway), "remove nothing" in told(gateway, "rights")) == ({}, True)
    await database.tell(f"GRANT interlock_pruner TO {login}")
    assert "remove what a seal covers" in told(look_at_database(database.address_of(login)), "rights")


async def test_a_database_without_its_guards_or_that_takes_no_writes(database: InDatabase) -> None:
    await database.tell(
        "DROP TRIGGER entry_stays ON entry",
        f"ALTER DATABASE {database.name} SET default_transaction_read_only = on",
    )
    found = bad(look_at_database(database.address))

    assert "'entry_stays' of the database is gone" in found["guards"]
    assert "takes no writes" in found["writable"]


def test_a_database_that_was_never_used_or_does_not_answer(postgres: PostgresServer) -> None:
    assert bad(look_at_database(postgres.address("postgres"))).keys() == {"version"}
    with pytest.raises(StoreUnavailable):
        look_at_database(postgres.address("nowhere"))
