"""No record, no call: what happens at each door while the disk cannot be written, and how soon all is well again.

    what is wrong            how it is made                              elsewhere
    -----------------------  ------------------------------------------  ---------------------------------------------
    the disk is full         a limit on the size of files                store/test_sqlite, store/child_on_a_full_disk
    the file is read-only    SQLite says so when a transaction begins    store/child_without_rights
    somebody else writes     a transaction that is kept open, longer     store/test_sqlite
                             than a write waits
    the database refuses     a trigger                                   store/test_sqlite
    a sync fails             SQLite says so when a transaction ends      torture/test_io_faults: at every statement
    the process is killed    kill -9                                     torture/test_kill

A call above read-only is refused with AUDIT_UNAVAILABLE over MCP in both eras and over REST, and the server gets
nothing of it. The first read passes, because nobody has seen yet that the disk fails; with `record.wait: all` it is
refused too.
"""

import asyncio
import contextlib
import resource
from collections.abc import Callable, Generator
from pathlib import Path

import httpx2
import pytest

from interlock import errors
from interlock.clock import SystemClock
from tests.behaviours.callers import OK, Doors, Told
from tests.running import serving
from tests.store.faults import Faults, failing_disk
from tests.stores import allow, check, forbid, held_by_another
from tests.talking import NO_TLS
from tests.upstream.running import HttpUpstream, http_upstream, received

SOON = 30.0
RECOVERY_MICROS = 2_000_000
NO_ROOM = 512
"""The size in bytes beyond which no file can be written: less than any page of a database."""
REFUSED: Told = (str(errors.AUDIT_UNAVAILABLE().code), errors.AUDIT_UNAVAILABLE().text)


@contextlib.contextmanager
def full(folder: Path, faults: Faults) -> Generator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (NO_ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def read_only(folder: Path, faults: Faults) -> Generator[None]:
    faults.at(lambda statement: statement.startswith("BEGIN"), "attempt to write a readonly database")
    yield
    faults.repair()


@contextlib.contextmanager
def busy(folder: Path, faults: Faults) -> Generator[None]:
    with held_by_another(folder):
        yield


@contextlib.contextmanager
def refusing(folder: Path, faults: Faults) -> Generator[None]:
    forbid(folder)
    yield
    allow(folder)


@contextlib.contextmanager
def unsynced(folder: Path, faults: Faults) -> Generator[None]:
    faults.at(lambda statement: statement == "COMMIT", "disk I/O error")
    yield
    faults.repair()


A_FILE = pytest.mark.sqlite("the disk of a gateway without a server")
Broken = Callable[[Path, Faults], contextlib.AbstractContextManager[None]]
CONDITIONS: dict[str, Broken] = {
    "the disk is full": full,
    "the file is read-only": read_only,
    "somebody else writes": busy,
    "the database refuses": refusing,
    "a sync fails": unsynced,
}


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Generator[HttpUpstream]:
    with http_upstream(tmp_path_factory.mktemp("up") / "log") as running:
        yield running


@pytest.mark.parametrize(("wait", "first_read"), [("writes", OK), ("all", REFUSED)], ids=["writes", "all"])
@pytest.mark.parametrize(
    "what",
    [
        pytest.param("the disk is full", marks=A_FILE),
        pytest.param("the file is read-only", marks=A_FILE),
        "somebody else writes",
        "the database refuses",
        pytest.param("a sync fails", marks=A_FILE),
    ],
)
async def test_while_nothing_can_be_recorded_nothing_that_matters_is_sent_and_after_it_all_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, upstream: HttpUpstream, what: str, wait: str, first_read: Told
) -> None:
    faults = failing_disk(monkeypatch)
    text = f"expose: direct\nrecord: {{wait: {wait}}}\nservers: {{up: {{url: '{upstream.url}'}}}}\n"
    note = {"name": f"{what} {wait}", "text": "x"}
    async with serving(tmp_path, text) as running, httpx2.AsyncClient(timeout=SOON, verify=NO_TLS) as http:
        doors, data = Doors(http, running), running.folder.path
        assert await doors.modern("read_note", {"name": "warm"}) == OK
        with CONDITIONS[what](data, faults):
            read = await doors.modern("read_note", {"name": "during"})
            calls = (doors.modern, doors.legacy, doors.rest)
            told = await asyncio.gather(*(call("write_note", note) for call in calls))
        sends = [each.message["params"]["arguments"] for each in received(upstream.log) if each.method == "tools/call"]
        repaired = SystemClock().ticks()
        after = await doors.modern("write_note", note)
        took = SystemClock().ticks() - repaired

    assert (read, told) == (first_read, [REFUSED] * 3)
    assert note not in sends
    assert (after, took < RECOVERY_MICROS) == (OK, True)
    assert check(data).intact
