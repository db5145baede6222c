"""What docs/growing.md says of the database, done on one."""

import re
from pathlib import Path

import asyncpg
import pytest

from interlock.store.migrate import migrations
from interlock.store.postgres_migrate import migrate
from tests.postgres_server import running_server

ROOT = Path(__file__).parents[2]
ROLE = ROOT / "src/interlock/store/postgres_role.sql"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def statements() -> list[str]:
    """What the page has the superuser say."""
    found = re.search(r"<<'SQL'\n(.*?)\nSQL\n", (ROOT / "docs/growing.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1].splitlines()


async def test_the_owner_of_the_page_can_give_the_rights_and_the_gateway_has_them() -> None:
    with running_server() as server:
        superuser = await asyncpg.connect(server.address("postgres"))
        for each in statements():
            await superuser.execute(each)
        await superuser.close()
        owner = await asyncpg.connect(server.address("interlock", "interlock_owner"))
        await owner.execute("SET search_path = interlock")
        await migrate(owner, migrations("migrations/postgres"))
        await owner.execute(ROLE.read_text(encoding="utf-8"))
        await owner.close()
        gateway = await asyncpg.connect(server.address("interlock", "interlock"))
        rights = "has_table_privilege('interlock.entry', '{}')"
        found = [await gateway.fetchval(f"SELECT {rights.format(each)}") for each in ("INSERT", "SELECT", "DELETE")]
        await gateway.close()

    assert found == [True, True, False]
