"""A process without the rights of root, which tries to open a store in a folder that it may only read.

Prints one line per try: what the store said, or `open`; and how many records a check finds there.
"""

import asyncio
import os
import sys
from pathlib import Path

from interlock.clock import SystemClock
from interlock.store.audit.check import check_folder
from interlock.store.protocol import StoreUnavailable
from interlock.store.sqlite import SqliteStore
from tests.store.examples import activity

NOBODY = 65534


async def attempt(path: Path) -> None:
    store = SqliteStore(path, SystemClock())
    try:
        await store.start()
        await store.write([activity(1)])
        await store.close()
    except StoreUnavailable as refusal:
        sys.stdout.write(f"{refusal}\n")
    else:
        sys.stdout.write("open\n")


def give_up_rights(folder: Path) -> None:
    """Root may write anywhere, so root has to go; the folder goes with it."""
    if os.geteuid() == 0:
        for each in (folder, *folder.iterdir()):
            os.chown(each, NOBODY, NOBODY)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def main(folder: Path) -> None:
    # The first try also loads every module that is needed: without rights the library may be out of reach.
    asyncio.run(attempt(folder / "interlock.db"))
    give_up_rights(folder)
    folder.chmod(0o500)
    asyncio.run(attempt(folder / "interlock.db"))
    asyncio.run(attempt(folder / "other.db"))
    asyncio.run(attempt(folder / "deeper" / "interlock.db"))
    sys.stdout.write(f"{check_folder(folder).records} records\n")
    folder.chmod(0o700)
    asyncio.run(attempt(folder / "interlock.db"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
