"""What PostgreSQL itself refuses, whoever writes to it, and what is particular to a store there."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path

import asyncpg
import pytest

from interlock.core.grants import GrantScope
from interlock.core.lifecycle import CallState
from interlock.store.audit.keys import open_key
from interlock.store.audit.seal import SealKind
from interlock.store.condition import look_at_database
from interlock.store.migrate import migrations
from interlock.store.postgres import PostgresStore
from interlock.store.postgres_migrate import migrate
from interlock.store.protocol import Store, StoreUnavailable
from tests.postgres_server import PostgresServer
from tests.store.approval_examples import approval, no, sent, why, yes
from tests.store.audit.logs import Office
from tests.store.examples import TickingClock, activity, assert_sound, token, told
from tests.store.places import CHAIN, InDatabase, opened

ROLE = files("interlock.store").joinpath("postgres_role.sql").read_text(encoding="utf-8")


async def _granted(store: Store, number: int, scope: GrantScope) -> None:
    await store.approvals.add_approval(approval(number), why(number))
    made = yes(approval(number), scope=scope)
    await store.approvals.change_approval(made.approval, why(number), made.grant)


@pytest.fixture
async def filled(database: InDatabase) -> InDatabase:
    """A database with a pending approval, an approved one whose grant was used, and one with a standing grant."""
    async with opened(database) as store:
        await store.approvals.add_approval(approval(1), why(1))
        await _granted(store, 2, GrantScope.ONCE)
        await _granted(store, 3, GrantScope.IDENTICAL)
        await store.approvals.use_grant("gr_0002", sent(2, "d2"))
    return database


@pytest.fixture
async def owner(filled: InDatabase) -> AsyncIterator[asyncpg.Connection]:
    connection = await filled.connect()
    yield connection
    await connection.close()


# The last line, behind everything that the program checks -------------------------------------------------------

OWN_VOTE = '[{"approver":"agent"}]'
ENTRY = "INSERT INTO entry (chain, seq, at, kind, subject, text, prev, hash) "
TIP = "(SELECT hash FROM entry WHERE chain = 'chain-1' ORDER BY seq DESC LIMIT 1)"
ZERO = "decode(repeat('00', 32), 'hex')"
ASKED = "INSERT INTO approval SELECT 'x', {}, NULL, NULL, 'g', 0, 1, {}, 1, 'w', '{}', '{{}}'"
GRANT = "INSERT INTO granted SELECT 'gr_9', {}, 'agent', 'once', 1, 9, 1, 0, NULL, NULL, '{{}}'"


@pytest.mark.parametrize(
    ("statement", "why_not"),
    [
        ("UPDATE entry SET text = text", "never changed"),
        ("UPDATE entry SET at = 1 WHERE seq = 1", "never changed"),
        ("DELETE FROM entry", "only with a sealed stretch"),
        ("DELETE FROM entry WHERE seq = (SELECT max(seq) FROM entry)", "only with a sealed stretch"),
        ("TRUNCATE entry", "never deleted"),
        (f"{ENTRY} SELECT * FROM entry WHERE seq = 1", "duplicate key"),  # noqa: S608
        (f"{ENTRY} VALUES ('chain-1', 99, 1, 'k', 's', '', {TIP}, {ZERO})", "must follow the last one"),
        (f"{ENTRY} SELECT 'chain-1', max(seq) + 1, 1, 'k', 's', '', {ZERO}, {ZERO} FROM entry", "follow"),  # noqa: S608
        (f"{ENTRY} VALUES ('chain-2', 1, 1, 'k', 's', '', {TIP}, {ZERO})", "must follow the last one"),
        (f"{ENTRY} VALUES ('chain-2', 2, 1, 'k', 's', '', {ZERO}, {ZERO})", "must follow the last one"),
        (f"{ENTRY} VALUES ('chain-2', 0, 1, 'k', 's', '', {ZERO}, {ZERO})", "check constraint"),
        (
            f"{ENTRY} SELECT 'chain-1', max(seq) + each, 1, 'k', 's', '', {TIP}, {TIP} FROM entry, "  # noqa: S608
            "generate_series(1, 3, 2) AS each GROUP BY each",
            "must follow the last one",
        ),
        ("UPDATE approval SET status = 'denied', decided_at = 5, approver = requester WHERE id = 'ap_0001'", "another"),
        ("UPDATE approval SET status = 'approved', decided_at = 5 WHERE id = 'ap_0001'", "by_somebody"),
        ("UPDATE approval SET status = 'cancelled' WHERE id = 'ap_0001'", "decided_when_resolved"),
        ("UPDATE approval SET status = 'maybe', decided_at = 5 WHERE id = 'ap_0001'", "check constraint"),
        ("UPDATE approval SET decided_at = 5 WHERE id = 'ap_0001'", "decided_when_resolved"),
        (f"UPDATE approval SET votes = '{OWN_VOTE}' WHERE id = 'ap_0001'", "votes for a call of its own"),  # noqa: S608
        ("UPDATE approval SET status = 'cancelled', decided_at = 5 WHERE id = 'ap_0002'", "resolved once"),
        ("UPDATE approval SET status = 'pending', decided_at = NULL WHERE id = 'ap_0002'", "resolved once"),
        ("UPDATE approval SET body = '{}' WHERE id = 'ap_0002'", "resolved once"),
        ("UPDATE approval SET requester = 'x' WHERE id = 'ap_0001'", "never changed"),
        ("UPDATE approval SET waits_for = 'x' WHERE id = 'ap_0001'", "never changed"),
        ("UPDATE approval SET expires_at = 1 WHERE id = 'ap_0001'", "never changed"),
        ("UPDATE approval SET created_at = 1 WHERE id = 'ap_0001'", "never changed"),
        ("UPDATE approval SET id = 'x' WHERE id = 'ap_0001'", "never changed"),
        ("DELETE FROM approval WHERE id = 'ap_0002'", "never deleted"),
        ("TRUNCATE approval CASCADE", "never deleted"),
        (ASKED.format("'approved', 1, 'a', 'b'", "1", "[]"), "begins as pending"),
        (ASKED.format("'pending', 0, 'a', NULL", "NULL", "[1]"), "begins as pending"),
        (GRANT.format("'ap_0001'"), "needs an approval that was given"),
        (GRANT.format("'ap_none'"), "needs an approval that was given"),
        (GRANT.format("'ap_0002'"), "duplicate key"),
        ("UPDATE granted SET uses_left = 1 WHERE id = 'gr_0002'", "granted_once"),
        ("UPDATE granted SET uses_left = NULL WHERE id = 'gr_0002'", "granted_once"),
        ("UPDATE granted SET uses_left = 1, uses = 0 WHERE id = 'gr_0002'", "only used or revoked"),
        ("UPDATE granted SET uses = 2, uses_left = -1 WHERE id = 'gr_0002'", "check constraint"),
        ("UPDATE granted SET scope = 'tool' WHERE id = 'gr_0003'", "only used or revoked"),
        ("UPDATE granted SET expires_at = 9999999999999999 WHERE id = 'gr_0003'", "only used or revoked"),
        ("UPDATE granted SET caller = 'x' WHERE id = 'gr_0003'", "only used or revoked"),
        ("DELETE FROM granted WHERE id = 'gr_0002'", "never deleted"),
        ("TRUNCATE granted", "never deleted"),
    ],
)
async def test_the_database_refuses_what_must_not_be_even_of_its_owner(
    owner: asyncpg.Connection, statement: str, why_not: str
) -> None:
    with pytest.raises(asyncpg.PostgresError, match=why_not):
        await owner.execute(statement)


async def test_a_grant_that_was_revoked_stays_revoked(owner: asyncpg.Connection) -> None:
    await owner.execute("UPDATE granted SET revoked_at = 5 WHERE id = 'gr_0003'")
    with pytest.raises(asyncpg.PostgresError, match="only used or revoked"):
        await owner.execute("UPDATE granted SET revoked_at = NULL WHERE id = 'gr_0003'")


async def test_a_guard_is_not_fooled_by_tables_of_the_same_names(owner: asyncpg.Connection) -> None:
    await owner.execute("CREATE TEMP TABLE seal AS SELECT 'chain-1' AS chain, 'pruned' AS kind, 999 AS seq")
    await owner.execute("CREATE TEMP TABLE approval AS SELECT * FROM interlock.approval")
    await owner.execute("UPDATE pg_temp.approval SET status = 'approved'")

    with pytest.raises(asyncpg.PostgresError, match="only with a sealed stretch"):
        await owner.execute("DELETE FROM interlock.entry")
    with pytest.raises(asyncpg.PostgresError, match="needs an approval that was given"):
        await owner.execute(GRANT.format("'ap_0001'"))


async def test_an_entry_that_was_removed_cannot_be_put_back(database: InDatabase, tmp_path: Path) -> None:
    async with Office(tmp_path, store=database.store(TickingClock())) as office:
        await office.fill(1, 10, every=5)
        seals = office.store.seals
        place = await seals.place(10)
        assert place is not None
        await seals.add(open_key(tmp_path).seal(SealKind.PRUNED, seals.chain, 10, place.hash, 1))
        (first,) = await office.store.log_entries(0, 1)
        await seals.shed(10, 100)
    connection = await database.connect()
    with pytest.raises(asyncpg.PostgresError, match="must follow the last one"):
        await connection.execute(
            f"{ENTRY} VALUES ($1, 1, $2, $3, $4, $5, $6, $7)",
            *(first.chain, first.at, first.kind, first.subject, first.text, first.prev, first.hash),
        )
    await connection.close()


async def test_a_trigger_of_somebody_else_that_leaves_rows_out_is_noticed(database: InDatabase) -> None:
    nothing = "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
    trigger = "CREATE TRIGGER a BEFORE INSERT ON activity FOR EACH ROW EXECUTE FUNCTION nothing()"
    async with opened(database) as store:
        await database.tell(nothing, trigger)
        with pytest.raises(StoreUnavailable, match="Of 1 rows 0 were taken"):
            await store.write([activity(1)])

        assert await store.log_end() == 0


# The role of a gateway ------------------------------------------------------------------------------------------


@pytest.fixture
async def as_gateway(database: InDatabase) -> AsyncIterator[InDatabase]:
    """A database in which a role has the rights of a gateway and no others."""
    login = f"gateway_{database.name}"
    await database.tell(ROLE, ROLE, f"CREATE ROLE {login} LOGIN IN ROLE interlock_gateway")
    yield database
    await database.tell(f"DROP OWNED BY {login}", f"DROP ROLE {login}")


async def test_a_gateway_needs_no_more_than_the_rights_of_its_role(as_gateway: InDatabase) -> None:
    store = PostgresStore(as_gateway.address_of(f"gateway_{as_gateway.name}"), CHAIN, TickingClock())
    await store.start()
    await store.write([activity(1, CallState.SENT), activity(1)])
    await store.add_token(token(1), told(1))
    await store.revoke_token("tok-1", 5, told(2))
    await _granted(store, 2, GrantScope.ONCE)
    await store.approvals.use_grant("gr_0002", sent(2, "d2"))

    await assert_sound(store)
    await store.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE interlock.entry SET text = ''",
        "DELETE FROM interlock.entry",
        "TRUNCATE interlock.entry",
        "UPDATE interlock.seal SET text = ''",
        "DELETE FROM interlock.seal",
        "DELETE FROM interlock.approval",
        "DELETE FROM interlock.granted",
        "DELETE FROM interlock.token",
        "UPDATE interlock.version SET version = 0",
        "ALTER TABLE interlock.entry DISABLE TRIGGER ALL",
        "DROP TRIGGER entry_follows ON interlock.entry",
        "CREATE OR REPLACE FUNCTION interlock.now_micros() RETURNS bigint LANGUAGE sql RETURN 0::bigint",
        "CREATE TABLE interlock.mine ()",
    ],
)
async def test_the_role_of_a_gateway_can_only_add_to_the_log(as_gateway: InDatabase, statement: str) -> None:
    connection = await asyncpg.connect(as_gateway.address_of(f"gateway_{as_gateway.name}"))
    with pytest.raises(asyncpg.PostgresError, match=r"permission denied|must be owner"):
        await connection.execute(statement)
    await connection.close()


# Reading --------------------------------------------------------------------------------------------------------


async def test_a_row_that_somebody_has_changed_is_told_and_not_taken_for_an_approval(filled: InDatabase) -> None:
    async with opened(filled) as store:
        await filled.tell("UPDATE approval SET body = '{}' WHERE id = 'ap_0001'")
        with pytest.raises(StoreUnavailable, match="ap_0001 cannot be read"):
            await store.approvals.get_approval("ap_0001")


async def test_what_the_database_refuses_of_one_is_no_answer_that_counts(database: InDatabase) -> None:
    own = approval(4, caller="bob")
    async with opened(database) as store:
        await store.approvals.add_approval(own, why(4))
        with pytest.raises(StoreUnavailable, match="approval_by_another"):
            await store.approvals.change_approval(no(own), why(4))

        assert await store.approvals.get_approval("ap_0004") == own


# Starting -------------------------------------------------------------------------------------------------------


async def test_a_role_that_may_not_migrate_is_told_what_the_owner_has_to_do(postgres: PostgresServer) -> None:
    name = await postgres.new_database("template1")
    role = f"bare_{name}"
    owner = await asyncpg.connect(postgres.address(name))
    await owner.execute(f"CREATE ROLE {role} LOGIN")

    async def said() -> str:
        with pytest.raises(StoreUnavailable) as started:
            await PostgresStore(postgres.address(name, role), CHAIN, TickingClock()).start()
        return str(started.value)

    before = await said()
    await owner.execute("SET search_path = interlock")
    await migrate(owner, migrations("migrations/postgres"))
    without_rights = await said()
    with pytest.raises(StoreUnavailable) as looked:
        await asyncio.to_thread(look_at_database, postgres.address(name, role))
    await owner.execute(f"GRANT USAGE ON SCHEMA interlock TO {role}; GRANT SELECT ON version TO {role}")
    without_tables = await said()
    await owner.execute("DELETE FROM version WHERE version = (SELECT max(version) FROM version)")
    behind = await said()
    await owner.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")
    await owner.close()
    await postgres.drop(name)

    assert all("the owner of the database has to run `interlock db migrate`" in each for each in (before, behind))
    for each in (without_rights, without_tables, str(looked.value)):
        assert "the owner has to run postgres_role.sql" in each
        assert "42501" in each
        assert "db migrate" not in each


async def test_a_password_is_not_in_what_is_said_when_the_database_cannot_be_used(postgres: PostgresServer) -> None:
    addresses = [
        f"postgresql://u:hunter2@/nowhere?host={postgres.folder}",
        "postgresql://u:hunter2@/db?host=/nowhere",
        "postgresql://u:hunter2@[::1/db",
        "postgresql://u:hunter2@h:port/db",
        "postgresql://u:hunter2/@h/db",
    ]
    for each in addresses:
        with pytest.raises(StoreUnavailable) as refused:
            await PostgresStore(each, CHAIN, TickingClock()).start()
        assert "hunter2" not in str(refused.value)


def test_nothing_of_postgresql_is_loaded_unless_it_is_asked_for() -> None:
    check = "import sys, interlock.app.gateway; sys.exit('asyncpg' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
