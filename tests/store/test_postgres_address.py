"""Addresses of PostgreSQL: which database they name, and what is told of them."""

import pytest

from interlock.store.postgres_address import begin_sentence, shown_database
from interlock.store.postgres_link import Address, Patience
from interlock.store.protocol import StoreUnavailable
from tests.postgres_server import PostgresServer
from tests.store.places import InDatabase


@pytest.fixture(autouse=True)
def _nothing_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGDATABASE", "PGHOST", "PGUSER"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("path", ["", "/", "/postgres"])
async def test_a_database_in_the_query_is_taken_as_psql_takes_it(
    database: InDatabase, postgres: PostgresServer, path: str
) -> None:
    text = f"postgresql://{path}?host={postgres.folder}&user=postgres&dbname={database.name}"
    connection = await Address(text, Patience()).connect()
    found = await connection.fetchval("SELECT current_database()")
    await connection.close()

    assert found == database.name
    assert f"database {database.name} in" in shown_database(text)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://a/x?host=b",
        "postgresql://a:1/x?port=2",
        "postgresql://u@a/x?user=v",
        "postgresql://u:hunter2@a/x?password=hunter3",
    ],
)
async def test_what_is_named_twice_is_refused_because_programs_would_go_to_different_places(address: str) -> None:
    with pytest.raises(StoreUnavailable, match="twice, before the database and after it") as refused:
        await Address(address, Patience()).connect()

    assert "hunter" not in str(refused.value)


async def test_an_empty_path_leaves_the_choice_to_the_surroundings(
    database: InDatabase, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGDATABASE", database.name)
    text = f"postgresql://postgres@/?host={postgres.folder}"
    connection = await Address(text, Patience()).connect()
    found = await connection.fetchval("SELECT current_database()")
    await connection.close()

    assert found == database.name
    assert f"database {database.name} in" in shown_database(text)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("postgresql://u:hunter2@db.example:5433/x?sslmode=require", "the database x in PostgreSQL at db.example:5433"),
        ("postgresql://u:hunter2@[::1]/x", "the database x in PostgreSQL at [::1]"),
        ("postgresql://u:hunter2@a,b/x", "the database x in PostgreSQL at a,b"),
        ("postgresql://u:hunter2@/x?host=/run/pg", "the database x in PostgreSQL at /run/pg"),
        ("postgresql:///?dbname=x&password=hunter2", "the database x in PostgreSQL"),
        ("postgresql://u:hunter2@h", "the database u in PostgreSQL at h"),
        ("postgresql://", "the database in PostgreSQL"),
    ],
)
def test_a_database_is_told_by_its_name_and_its_host(address: str, told: str) -> None:
    assert shown_database(address) == told
    assert begin_sentence(told) == f"The{told[3:]}"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:12/hunter2@h/db",
        "postgresql://u:12?hunter2@h/db",
        "postgresql://u:12#hunter2@h/db",
        "postgresql://u:12@hunter2@h/db",
        "postgresql://u:[hunter2@h/db",
        "postgresql://u:12\n/hunter2@h/db",
    ],
)
def test_a_password_that_is_not_written_as_an_address_wants_it_is_not_told(address: str) -> None:
    assert "hunter2" not in shown_database(address)
    assert "12" not in shown_database(address)
