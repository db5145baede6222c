"""Which log a database has: one row names it, and what is in the tables has to bear that out.

Somebody who has the file can take that row away, change it or add another. Then the log itself is there as before, and
would only not be found.

This module refuses to begin a log in a database that has one already, whatever the row says.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from interlock.core.model import Micros
from interlock.store import queries
from interlock.store.protocol import StoreUnavailable

_GONE = "the row is gone that says which log this is"


def begin_chain(connection: sqlite3.Connection, chain: str, now: Micros) -> str:
    """The chain that a database continues: the one that is given if it has none. Raises StoreUnavailable."""
    connection.execute(queries.START_CHAIN, (chain, now))
    names = chain_names(connection)
    if told := misnamed(connection, names) or ("" if names else _GONE):
        raise StoreUnavailable(f"{told[0].upper()}{told[1:]}. `interlock audit verify` says more.")
    return names[0]


def chain_names(connection: sqlite3.Connection) -> list[Any]:
    """What the rows say that should be one."""
    return [name for (name,) in connection.execute(queries.CHAIN)]


def misnamed(connection: sqlite3.Connection, names: Sequence[Any]) -> str | None:
    """What is wrong with the name of the log in a database, if there is a log; None when nothing is."""
    if len(names) > 1:
        return f"{len(names)} rows say which log this is, where there is one"
    ((others,),) = connection.execute(queries.OTHER_CHAIN, (names[0] if names else "",) * 2).fetchall()
    if not others:
        return None
    return "the row that says which log this is names another" if names else _GONE


def several_logs(connection: sqlite3.Connection) -> int:
    """How many whole logs there are, as in a backup of several gateways; 0 for one, and where an entry belongs to a log
    that no row names, or a row was only added: that is no backup, but somebody's doing."""
    told = {name for (name,) in connection.execute(queries.CHAINS_WITH_ENTRIES)}
    return len(told) if len(told) > 1 and told == set(chain_names(connection)) else 0


def chain_found(connection: sqlite3.Connection, names: Sequence[Any]) -> Any:
    """The chain that a database has, whatever its row says; None when there is none."""
    if len(names) == 1 and names[0] is not None:
        return names[0]
    rows = connection.execute(queries.FOUND_CHAIN).fetchall()
    return rows[0][0] if rows else next(iter(names), None)
