"""Bringing a PostgreSQL database to the version that this program knows, one file of SQL after the other.

Each migration is one transaction, and the version it leads to is written in it, so that one that is cut off leaves
nothing behind. Gateways that start at once take turns, and the second finds it done.

A database that is up to date is only looked at: the role of a gateway need not be allowed to change it.
"""

from collections.abc import Sequence

from asyncpg import Connection, InsufficientPrivilegeError

from interlock.errors import sentence
from interlock.store.migrate import Migration, migrations, newer, not_ours
from interlock.store.postgres_link import turn_of, words
from interlock.store.postgres_words import TAKE_TURN
from interlock.store.protocol import StoreUnavailable

_TURN = turn_of("migrations")

# Whether anything is in our schema, and whether that is ours.
ORIGIN = """
SELECT EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('interlock')),
    to_regclass('interlock.version') IS NOT NULL
"""
VERSION = "SELECT coalesce(max(version), 0) FROM version"
_SCHEMA = "SELECT to_regnamespace('interlock') IS NOT NULL"

# Whether the schema is there, and whether whoever asks may look into it.
_SEEN = """
SELECT to_regnamespace('interlock') IS NOT NULL,
    coalesce(has_schema_privilege(to_regnamespace('interlock')::oid, 'USAGE'), false)
"""
_NOT_MIGRATED = (
    "The tables of this Interlock are not there yet, and this role may not make them: the owner of the database has to"
    " run `interlock db migrate`, and then postgres_role.sql (docs/deployment.md)"
)
_NO_RIGHTS = (
    "The tables are there, and this role has not the rights of a gateway: the owner has to run postgres_role.sql, and"
    " to GRANT interlock_gateway TO this role (docs/deployment.md)"
)

# Others may take long to migrate, and so may we.
_PATIENT = "SET LOCAL lock_timeout = '60s'; SET LOCAL idle_in_transaction_session_timeout = '60s'"
_SECONDS = 3600.0


async def migrate(connection: Connection, steps: Sequence[Migration]) -> None:
    """Apply what is missing."""
    known = steps[-1].version
    if await _version(connection, known) == known:
        return
    for step in steps:
        async with connection.transaction():
            await connection.execute(_PATIENT)
            await connection.execute(TAKE_TURN, _TURN, timeout=_SECONDS)
            # Asked again in turn: another gateway may have been faster.
            if await _version(connection, known) < step.version:
                await _apply(connection, step)


async def _apply(connection: Connection, step: Migration) -> None:
    # Not `IF NOT EXISTS`, which asks for the right to make one even if there is one.
    if not await connection.fetchval(_SCHEMA):
        await connection.execute("CREATE SCHEMA interlock")
    await connection.execute(step.sql, timeout=_SECONDS)
    await connection.execute("INSERT INTO version (version) VALUES ($1)", step.version)


async def _version(connection: Connection, known: int) -> int:
    """How far the database has come; raises for one that is not ours or too new."""
    taken, ours = await connection.fetchrow(ORIGIN) or (False, False)
    if not ours:
        if taken:
            raise not_ours("an address")
        return 0
    version: int = await connection.fetchval(VERSION)
    if version > known:
        raise newer(version, known, "address")
    return version


async def refused(connection: Connection, problem: InsufficientPrivilegeError) -> StoreUnavailable:
    """What to say of a role that may not do what it wanted: what its owner has left to do."""
    there, may_look = await connection.fetchrow(_SEEN) or (False, False)
    ready = there and (not may_look or await _is_newest(connection))
    return StoreUnavailable(f"PostgreSQL: {sentence(words(problem))} {_NO_RIGHTS if ready else _NOT_MIGRATED}.")


async def _is_newest(connection: Connection) -> bool:
    """Whether nothing is left to migrate, as far as the role may see."""
    known = migrations("migrations/postgres")[-1].version
    try:
        return await _version(connection, known) == known
    except InsufficientPrivilegeError:
        return True
