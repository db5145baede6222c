"""A process that writes until it is killed, and says on its output what it was told is durable.

Each line is the id of an activity whose write came back. Some records are queued without waiting, as reads are.
"""

import asyncio
import itertools
import os
import sys
from pathlib import Path

from msgspec.structs import replace

from interlock.clock import SystemClock
from interlock.core.lifecycle import CallState
from interlock.store.postgres import PostgresStore
from interlock.store.sqlite import SqliteStore
from tests.store.examples import activity


async def main(place: str, life: str) -> None:
    clock = SystemClock()
    in_database = place.startswith("postgresql://")
    store = PostgresStore(place, "chain-1", clock) if in_database else SqliteStore(Path(place), clock)
    await store.start()
    numbers = itertools.count()

    async def caller() -> None:
        for number in numbers:
            call = replace(activity(number, CallState.SENT, text="x" * (number % 3_000)), id=f"{life}-{number:06}")
            if number % 3 == 0:
                store.write_soon([replace(call, id=f"{call.id}-read")])
            await store.write([call])
            await store.write([replace(call, status=CallState.SUCCESS)])
            os.write(1, f"{call.id}\n".encode())

    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(caller())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
