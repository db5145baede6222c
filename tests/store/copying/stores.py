"""Stores with something of everything in them, and all that is in one."""

from pathlib import Path

from interlock.core.drift import Reviewed
from interlock.core.freezes import Freeze
from interlock.core.safety import SafetyClass
from interlock.store.copying.copy import Place
from interlock.store.copying.postgres_copy import PostgresSource
from interlock.store.copying.sqlite_copy import SqliteSource
from interlock.store.copying.tables import TABLES, Source
from interlock.store.folder import DATABASE
from interlock.store.postgres_snapshot import snapshot_of
from interlock.store.protocol import KeptServer
from interlock.store.rows import Row
from tests.store.approval_examples import ALL, approval, sent, yes
from tests.store.audit.logs import Office
from tests.store.audit.shared import told
from tests.store.examples import NOW, activity, token
from tests.store.examples import told as token_told


async def fill(office: Office, first: int = 1) -> None:
    """Calls, a token, servers, reviews, a freeze, an approval whose grant was used and one that waits; and seals."""
    await office.fill(first, first + 9, every=5)
    store = office.store
    await store.add_token(token(first), token_told(first))
    for name in ("z", "a"):
        await store.put_server(f"{name}{first}", KeptServer(True, {"url": "http://é"}), activity(first))
    await store.begin_baseline(f"s{first}", {"odd\0tool": Reviewed(None, "told")}, activity(first + 1))
    await store.put_override(f"s{first}", "tool", SafetyClass.DANGEROUS, activity(first + 2))
    await store.approvals.put_freeze(ALL, Freeze(ALL, NOW, "olga", "because"), activity(first + 3))
    given = yes(approval(first))
    assert await store.approvals.add_approval(approval(first), told(approval(first)))
    assert await store.approvals.change_approval(given.approval, told(given.approval), given.grant)
    assert given.grant is not None
    assert await store.approvals.use_grant(given.grant.id, sent(first, f"d{first}"))
    waiting = approval(first + 1)
    assert await store.approvals.add_approval(waiting, told(waiting))
    await office.sealer.checkpoint()


async def filled_folder(folder: Path) -> Path:
    """A data folder with such a store in a file."""
    async with Office(folder) as office:
        await fill(office)
    return folder


def everything(place: Place) -> dict[str, list[Row]]:
    """All rows of a store, table by table."""
    if place.file is not None:
        with SqliteSource.at(place.file) as source:
            return _all(source)
    with snapshot_of(place.address) as snapshot:
        return _all(PostgresSource(snapshot))


def _all(source: Source) -> dict[str, list[Row]]:
    return {table.name: list(source.rows(table)) for table in TABLES}


def file_in(folder: Path) -> Place:
    return Place(folder / DATABASE, goes_on=True)
