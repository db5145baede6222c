"""A thousand ways to alter a log that its owner did not look at: each is found, at the record where it begins.

Who tampers has the database file and SQLite, and takes care to leave the guards as they were; of the tail cuts, that
the seals in the database and the list of activities agree with the shorter log. Each is drawn from a seed of its own,
which stands in the failure. Logs that nobody touched are checked as often, and raise no alarm.
"""

import asyncio
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from interlock.store.audit.seals import Keep
from interlock.store.folder import DATABASE
from interlock.store.protocol import StoreUnavailable
from tests.postgres_server import PostgresServer
from tests.store.audit import shared
from tests.store.audit.logs import Office, check, tamper
from tests.store.audit.shared import office
from tests.store.places import InDatabase

TIMES = 1000
CALLS = 40
TEXTS = ("kind", "subject", "text")
HASHES = ("prev", "hash")

Statement = tuple[str, tuple[object, ...]]


class Attack(NamedTuple):
    """What is done, and the first record that does not fit afterwards."""

    statements: tuple[Statement, ...]
    first: int


def flip(entries: dict[int, dict[str, Any]], dice: random.Random) -> Attack:
    """Another byte in a column."""
    seq = dice.choice(list(entries))
    column = dice.choice((*TEXTS, *HASHES, "at"))
    value = entries[seq][column]
    if column == "at":
        return Attack((_put(column, seq, value ^ (1 << dice.randrange(40))),), seq)
    raw = bytearray(value if column in HASHES else value.encode())
    raw[dice.randrange(len(raw))] ^= 1 << dice.randrange(8)
    if column in HASHES:
        return Attack((_put(column, seq, bytes(raw)),), seq)
    statement = f"UPDATE entry SET {column} = CAST(? AS TEXT) WHERE seq = ?"  # noqa: S608 - of constants
    return Attack(((statement, (bytes(raw), seq)),), seq)


def delete(entries: dict[int, dict[str, Any]], dice: random.Random) -> Attack:
    """A record, or some in a row, taken out. The last ones are a tail cut."""
    seq = dice.choice(list(entries)[:-5])
    count = dice.randint(1, 4)
    return Attack((("DELETE FROM entry WHERE seq BETWEEN ? AND ?", (seq, seq + count - 1)),), seq)


def close_up(entries: dict[int, dict[str, Any]], dice: random.Random) -> Attack:
    """A record taken out, and the numbers after it closed up."""
    seq = dice.choice(list(entries)[:-5])
    moved = [("UPDATE entry SET seq = ? WHERE seq = ?", (each - 1, each)) for each in entries if each > seq]
    return Attack((("DELETE FROM entry WHERE seq = ?", (seq,)), *moved), seq)


def swap(entries: dict[int, dict[str, Any]], dice: random.Random) -> Attack:
    """Two records in each other's place."""
    one, other = sorted(dice.sample(list(entries), 2))
    renumber = "UPDATE entry SET seq = ? WHERE seq = ?"
    return Attack(((renumber, (-1, one)), (renumber, (one, other)), (renumber, (other, -1))), one)


def insert(entries: dict[int, dict[str, Any]], dice: random.Random) -> Attack:
    """A record of somebody's own between two others, with room made for it."""
    seq = dice.choice(list(entries)[1:])
    moved = [("UPDATE entry SET seq = ? WHERE seq = ?", (each + 1, each)) for each in reversed(entries) if each >= seq]
    copied = "INSERT INTO entry SELECT chain, ?, at, kind, 'call-99999', text, prev, hash FROM entry WHERE seq = ?"
    return Attack((*moved, (copied, (seq, dice.choice([seq - 1, seq + 1])))), seq)


def cut(entries: dict[int, dict[str, Any]], dice: random.Random) -> Attack:
    """The end cut off, with its seals and its part of the list: only the anchor knows."""
    last = dice.randrange(min(entries), max(entries))
    subjects = {entries[seq]["subject"] for seq in entries if seq > last}
    subjects -= {entries[seq]["subject"] for seq in entries if seq <= last}
    off = [("DELETE FROM activity WHERE id = ?", (subject,)) for subject in subjects]
    off += [("DELETE FROM entry WHERE seq > ?", (last,)), ("DELETE FROM seal WHERE seq > ?", (last,))]
    return Attack(tuple(off), last + 1)


ATTACKS: tuple[Callable[[dict[int, dict[str, Any]], random.Random], Attack], ...] = (
    flip,
    delete,
    close_up,
    swap,
    insert,
    cut,
)


def _put(column: str, seq: int, value: object) -> Statement:
    return f"UPDATE entry SET {column} = ? WHERE seq = ?", (value, seq)  # noqa: S608 - of constants


@pytest.fixture(scope="module", params=["whole", "pruned"])
def clean(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of eighty records with a checkpoint on every tenth, or what is left of it when a part was removed."""
    folder = tmp_path_factory.mktemp("log")

    async def fill() -> None:
        async with Office(folder) as office:
            await office.fill(1, CALLS, every=5)
            if request.param == "pruned":
                await office.sealer.prune(Keep(records=55), "operator")
                await office.sealer.checkpoint()

    asyncio.run(fill())
    return folder


def entries_of(folder: Path) -> dict[int, dict[str, Any]]:
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        connection.row_factory = sqlite3.Row
        return {row["seq"]: dict(row) for row in connection.execute("SELECT * FROM entry ORDER BY seq")}


@pytest.mark.sqlite("the same is done to PostgreSQL below")
def test_every_one_of_a_thousand_tamperings_is_found_where_it_begins(clean: Path, tmp_path: Path) -> None:
    entries = entries_of(clean)
    copy = tmp_path / "copy"
    found: dict[str, int] = {}
    for seed in range(TIMES // 2):
        dice = random.Random(seed)
        attack = ATTACKS[seed % len(ATTACKS)]
        altered = attack(entries, dice)
        shutil.copytree(clean, copy)
        tamper(copy, *altered.statements)
        result = check(copy)
        shutil.rmtree(copy)

        assert result.broken is not None, (attack.__name__, seed)
        assert result.broken.seq == altered.first, (attack.__name__, seed, result.broken)
        found[attack.__name__] = found.get(attack.__name__, 0) + 1

    assert sum(found.values()) == TIMES // 2
    assert check(clean).intact


def test_logs_that_nobody_touched_raise_no_alarm(tmp_path: Path) -> None:
    """Of every length, sealed anywhere, pruned anywhere or not."""

    async def fill(folder: Path, dice: random.Random) -> None:
        async with Office(folder) as office:
            calls = dice.randint(0, 30)
            await office.fill(1, calls, every=dice.randint(1, 10))
            if dice.random() < 0.5:
                await office.sealer.prune(Keep(records=dice.randint(1, 40)), "operator")
            await office.fill(calls + 1, calls + dice.randint(0, 3))

    for seed in range(50):
        folder = tmp_path / str(seed)
        asyncio.run(fill(folder, random.Random(seed)))
        found = check(folder, anchored=(folder / "anchor.jsonl").exists())

        assert found.intact, (seed, found)


@pytest.mark.sqlite("the bits are those of the file")
def test_a_bit_flipped_anywhere_in_the_file_is_found_unless_it_changes_nothing_that_is_stored(
    clean: Path, tmp_path: Path
) -> None:
    def stored(folder: Path) -> list[Any] | None:
        try:
            with closing(sqlite3.connect(folder / DATABASE)) as connection:
                connection.text_factory = bytes
                tables = ("entry", "seal", "activity", "chain")
                return [connection.execute(f"SELECT * FROM {each}").fetchall() for each in tables]  # noqa: S608
        except (sqlite3.Error, UnicodeDecodeError):
            return None

    before, whole = stored(clean), (clean / DATABASE).read_bytes()
    copy = tmp_path / "copy"
    shutil.copytree(clean, copy)
    unseen: list[int] = []
    for seed in range(300):
        dice = random.Random(seed)
        content = bytearray(whole)
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        (copy / DATABASE).write_bytes(content)
        if stored(copy) != before and intact(copy):
            unseen.append(seed)

    assert unseen == []


def intact(folder: Path) -> bool:
    try:
        return check(folder).intact
    except StoreUnavailable:
        return False


# In PostgreSQL --------------------------------------------------------------------------------------------------

SHARED_TIMES = int(os.environ.get("INTERLOCK_TEST_TURNS", "60"))
TABLES = ("entry", "seal", "activity")


def literal(value: object) -> str:
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'::bytea"
    # No number below one has a place there, for a moment either.
    return str(10**9 if value == -1 else value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def in_words(statement: Statement) -> str:
    """A statement as PostgreSQL takes it. A byte that is no text cannot be put into one there: it becomes another."""
    sql, values = statement
    if "CAST(? AS TEXT)" in sql:
        raw, seq = values
        assert isinstance(raw, bytes)
        return (
            f"{sql.split('CAST')[0]} {literal(raw.decode('utf-8', 'replace').replace(chr(0), '?'))} WHERE seq = {seq}"
        )
    for each in values:
        sql = sql.replace("?", literal(each), 1)
    return sql


def test_tamperings_of_a_log_in_postgresql_are_found_where_they_begin(postgres: PostgresServer, tmp_path: Path) -> None:
    database = InDatabase(postgres)

    async def fill() -> dict[int, dict[str, Any]]:
        await database.__aenter__()
        async with office(database, tmp_path) as made:
            await made.fill(1, CALLS, every=5)
        await database.tell("CREATE SCHEMA saved", *(f"CREATE TABLE saved.{each} AS TABLE {each}" for each in TABLES))
        connection = await database.connect()
        rows = await connection.fetch("SELECT * FROM entry ORDER BY seq")
        await connection.close()
        return {row["seq"]: dict(row) for row in rows}

    entries = asyncio.run(fill())
    restored = [f"DELETE FROM {each}; INSERT INTO {each} SELECT * FROM saved.{each}" for each in TABLES]  # noqa: S608
    for seed in range(SHARED_TIMES):
        attack = ATTACKS[seed % len(ATTACKS)]
        altered = attack(entries, random.Random(seed))
        asyncio.run(shared.tamper(database, *map(in_words, altered.statements)))
        result = shared.check(database, tmp_path)
        asyncio.run(shared.tamper(database, *restored))

        assert result.broken is not None, (attack.__name__, seed)
        assert result.broken.seq == altered.first, (attack.__name__, seed, result.broken)
        if not seed % 10:
            assert shared.check(database, tmp_path).intact, seed
    asyncio.run(postgres.drop(database.name))
