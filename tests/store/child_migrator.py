"""Processes that are killed while they migrate: one for each statement of each migration of ours.

For each version there is a database of the version before, with something in it. A process of its own brings a copy of
it further and is killed, as by `kill -9`, just before one of its statements. The copies are left in the folder, named
after the version and the statement; what is printed is how many there are.
"""

import os
import shutil
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from interlock.store.migrate import Migration, migrate, migrations

FILLED = (
    "INSERT INTO chain VALUES ('c', 1)",
    "INSERT INTO entry VALUES ('c', 1, 1, 'tool_call', 'a', '{}', zeroblob(32), randomblob(32))",
    "INSERT INTO activity (id, at, type, status, body, server, tool) "
    "VALUES ('a', 1, 'tool_call', 'success', '{}', 's', 't')",
    "INSERT INTO token VALUES ('t', 'p', 'human', '[]', 'h', 1, NULL, NULL, '{}')",
)
"""What the database of a first version may hold."""


def opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def old(folder: Path, steps: tuple[Migration, ...]) -> Path:
    """A database of these versions, with something in it."""
    path = folder / f"old-{len(steps)}.db"
    with closing(opened(path)) as connection:
        if steps:
            migrate(connection, steps[:1])
            for each in FILLED:
                connection.execute(each)
            migrate(connection, steps)
    return path


def killed(path: Path, upto: tuple[Migration, ...], life: int) -> bool:
    """Whether a process was killed before its n-th statement; if not, it had fewer."""
    child = os.fork()
    if child == 0:
        left = life
        connection = opened(path)

        def before_each(_: str) -> None:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

        connection.set_trace_callback(before_each)
        migrate(connection, upto)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def main(folder: Path) -> None:
    ours, kills = migrations(), 0
    for version in range(1, len(ours) + 1):
        before, life = old(folder, ours[: version - 1]), 0
        while True:
            copy = folder / f"killed-{version}-{life}.db"
            shutil.copy(before, copy)
            if not killed(copy, ours[:version], life):
                copy.unlink()
                break
            life += 1
        kills += life
    sys.stdout.write(str(kills))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
