"""`interlock` that kills itself, as `kill -9` would, when it reaches a named place for the n-th time.

The places are those of the product: this program wraps them before it hands over to the command line, and the product
knows nothing of it. Seals come after a few entries and removal goes in small steps, so that both happen within a test.

    python -m tests.torture.child_gateway <place or -> <n> serve ...
"""

import asyncio
import functools
import inspect
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from interlock.cli.main import main
from interlock.forward.fleet import Fleet
from interlock.forward.link_stdio import StdioLink
from interlock.record import Recorder
from interlock.second_key import SecondKey
from interlock.store.audit import sealer
from interlock.store.postgres import PostgresStore
from interlock.store.postgres_ledger import PostgresLedger
from interlock.store.sql_seals import SqlSeals
from interlock.store.sqlite import SqliteLedger, SqliteStore

SEALED_EVERY, REMOVED_AT_ONCE = 25, 10
ON_ITS_WAY = 0.002
"""How many seconds after it was handed over a message has left for sure."""


class Place(NamedTuple):
    """A method of the product, and on which side of it the process ends. Of several owners a gateway has one."""

    owners: tuple[type[Any], ...]
    method: str
    after: bool
    only: Callable[..., bool] = lambda *_, **__: True
    """Which of its uses count."""
    later: float = 0.0


def _is_call(_: object, __: int, text: bytes, **___: object) -> bool:
    return b'"tools/call"' in text


PLACES = {
    "before the record ahead": Place((Recorder,), "_open", after=False),
    "after the record ahead": Place((Recorder,), "_open", after=True),
    "after the send": Place((StdioLink,), "_post", True, _is_call, ON_ITS_WAY),
    "while what a crash left is settled": Place((SqliteStore, PostgresStore), "open_activities", after=True),
    "after the answer came": Place((Fleet,), "call", after=True),
    "before the outcome": Place((Recorder,), "outcome", after=False),
    "after the outcome, before the reply": Place((Recorder,), "outcome", after=True),
    "in the middle of a transaction": Place((SqliteLedger, PostgresLedger), "_write", after=True),
    "after the commit, before anybody hears": Place((SqliteLedger, PostgresLedger), "commit", after=True),
    "after the approval, before its grant is used": Place((SecondKey,), "use", after=False),
    "a seal that only the anchor has": Place((SqlSeals,), "add", after=False),
    "in the middle of a removal": Place((SqlSeals,), "shed", after=True),
}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(place: Place, number: int) -> None:
    """Have the process end when this place is reached for the n-th time."""
    left = number

    def reached(*given: Any, **named: Any) -> None:
        nonlocal left
        left -= place.only(*given, **named)
        if left == 0 and place.later:
            asyncio.get_running_loop().call_later(place.later, die)
        elif left == 0:
            die()

    for owner in place.owners:
        setattr(owner, place.method, _wrapped(getattr(owner, place.method), reached, after=place.after))


def _wrapped(real: Callable[..., Any], reached: Callable[..., None], *, after: bool) -> Callable[..., Any]:
    """A method that also says when it is reached."""

    @functools.wraps(real)
    def at_once(*given: Any, **named: Any) -> Any:
        if not after:
            reached(*given, **named)
        result = real(*given, **named)
        if after:
            reached(*given, **named)
        return result

    @functools.wraps(real)
    async def in_time(*given: Any, **named: Any) -> Any:
        if not after:
            reached(*given, **named)
        result = await real(*given, **named)
        if after:
            reached(*given, **named)
        return result

    return in_time if inspect.iscoroutinefunction(real) else at_once


if __name__ == "__main__":
    _, where, count, *words = sys.argv
    sealer.RECORDS, sealer.STEP = SEALED_EVERY, REMOVED_AT_ONCE
    if where in PLACES:
        arm(PLACES[where], int(count))
    sys.exit(main(words))
