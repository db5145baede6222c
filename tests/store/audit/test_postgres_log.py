"""The logs of a database as they are read for the check."""

from pathlib import Path

import pytest

from interlock.store.audit.postgres_log import open_logs
from interlock.store.audit.seal import Seal
from interlock.store.chain import Break
from interlock.store.protocol import StoreUnavailable
from tests.postgres_server import PostgresServer
from tests.store.audit.shared import ONE, OTHER, office, tamper
from tests.store.places import InDatabase


@pytest.fixture
async def one(database: InDatabase, tmp_path: Path) -> InDatabase:
    async with office(database, tmp_path) as each:
        await each.fill(1, 4, every=2)
    return database


async def test_every_log_is_found_also_one_whose_row_is_gone(one: InDatabase) -> None:
    await one.tell(f"INSERT INTO chain VALUES ('{OTHER}', 1)")  # noqa: S608
    await tamper(one, f"DELETE FROM chain WHERE id = '{ONE}'")  # noqa: S608

    with open_logs(one.address) as logs:
        assert sorted(logs.chains) == [ONE, OTHER]
        assert (logs.log(ONE).end, logs.log(OTHER).end) == (8, 0)


async def test_entries_come_as_the_bytes_that_were_hashed(one: InDatabase) -> None:
    with open_logs(one.address) as logs:
        found = [*logs.log(ONE).entries(2, 5)]

    assert [row[0] for row in found] == [3, 4, 5]
    assert all(isinstance(each, bytes) for row in found for each in row[2:])
    assert "note 2 ".strip().encode() in found[0][4]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("text = 'none'", "its seal is none"),
        ("at = at + 1", "its seal was changed after it was written"),
        ("kind = 'pruned'", "its seal was changed after it was written"),
    ],
)
async def test_a_seal_that_is_none_is_told_as_a_break(one: InDatabase, change: str, problem: str) -> None:
    await tamper(one, f"UPDATE seal SET {change} WHERE seq = 4")  # noqa: S608 - of constants
    with open_logs(one.address) as logs:
        seals = [*logs.log(ONE).seals()]

    assert seals[0] == Break(4, problem)
    assert isinstance(seals[1], Seal)


async def test_a_database_that_is_not_of_this_version_is_not_checked(postgres: PostgresServer, one: InDatabase) -> None:
    await one.tell("INSERT INTO version VALUES (999)")
    needs = {one.address: "install the Interlock that wrote it", postgres.address("postgres"): "interlock db migrate"}
    for each, what in needs.items():
        with pytest.raises(StoreUnavailable, match=what), open_logs(each):
            pass
