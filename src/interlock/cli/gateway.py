"""Reaching the gateway from the command line: the one that runs on the data folder, or one started for the occasion.

Every verb that looks at a gateway, or acts through it, asks over the REST face with the operator's credential, or with
the token in INTERLOCK_TOKEN if there is one: whoever has a token of its own acts by it. So a verb is written once, sees
what everybody else sees, and passes the same checks, whether a gateway runs or not.

The credential goes only to an address that the holder of the folder announced. This module refuses to guess one, and
to take what answers there for a gateway unless it speaks like one.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlencode, urlsplit

from interlock import errors
from interlock.cli.command import Values
from interlock.cli.inputs import bad, load_config
from interlock.cli.loading import load_module
from interlock.cli.openings import bind
from interlock.cli.render import counted, note
from interlock.core.model import Json
from interlock.errors import Code, Exit, InterlockError, Reason
from interlock.receive.reach import Ask, NotSent, OwnReach, Reach, RemoteReach, Response, Unreachable
from interlock.store.folder import LOCK, DataFolder, FolderBusy, Hold

TOKEN = "INTERLOCK_TOKEN"  # noqa: S105 - the name of the variable, not a token

if TYPE_CHECKING:
    from interlock.app.gateway import Gateway
    from interlock.config.load import Config
    from interlock.store.protocol import StoreUnavailable

PATIENCE = 30.0
"""How many seconds a verb waits for another one that works in the folder."""
_PAUSE = 0.05
_ATTEMPTS = 10
"""How often a verb comes to a door that has just been closed, before it says so."""
SERVER_SECONDS = 60.0
"""How many seconds the servers of a gateway that was started for one verb may take."""
API = "/api/v1"
_LOOK = "GET"


def folder_of(values: Values) -> DataFolder:
    from interlock.config.places import data_dir

    return DataFolder(data_dir(values.data_dir, os.environ))


@contextlib.asynccontextmanager
async def reaching(
    values: Values, *, servers: bool, listen: bool = False, settle: bool = True, only: str | None = None
) -> AsyncGenerator[Reach]:
    """A way to the gateway of the data folder.

    If none runs, one is started here: with its servers, with `only` one of them, or without, and with a door for other
    processes (`listen`) if it is to stay, or if somebody may have to answer for what it does. `settle` waits until all
    servers have started.
    """
    folder = folder_of(values)
    address = None
    with contextlib.suppress(FolderBusy):
        address = running_at(folder)
    if address is not None:
        yield remote(address, folder)
        return
    # A gateway of our own takes a while to load. That comes before the folder is held, so that others wait less.
    load_module("interlock.app.listening")
    async with contextlib.AsyncExitStack() as stack:
        held = await hold_or_reach(stack, folder)
        if isinstance(held, Hold):
            own = own_gateway(load_config(values), held, servers=servers, listen=listen, settle=settle, only=only)
            yield await stack.enter_async_context(own)
        else:
            yield held


async def hold_or_reach(stack: contextlib.AsyncExitStack, folder: DataFolder) -> Hold | RemoteReach:
    """The right to work in the folder, or a way to whoever has it."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while True:
        try:
            return stack.enter_context(folder.hold())
        except FolderBusy as busy:
            if busy.address is not None:
                return remote(busy.address, folder)
        except OSError as failed:
            raise unusable(folder, failed) from None
        # Another command works here and will be done in a moment: it has no door, because it does not stay.
        if asyncio.get_running_loop().time() > deadline:
            raise InterlockError(errors.FOLDER_BUSY(folder=folder.path))
        await asyncio.sleep(_PAUSE)


def remote(address: str, folder: DataFolder) -> RemoteReach:
    """The way to the gateway of a folder, which listens on an address given as `http://host:port`."""
    parts = urlsplit(address)
    return RemoteReach(parts.hostname or "127.0.0.1", parts.port or 80, lambda: folder.announced() == address)


def unusable(folder: DataFolder, failed: OSError) -> InterlockError:
    return bad(f"{folder.path}: {failed.strerror}", "Choose a folder of yours with --data-dir.")


def running_at(folder: DataFolder) -> str | None:
    """Where the gateway of a folder listens, or None. Looking starts nothing and makes nothing; raises FolderBusy(None)
    when somebody works there and does not listen."""
    # A folder without a lock file was never worked in; holding it would make it.
    if not os.path.lexists(folder.path / LOCK):
        return None
    try:
        with folder.hold():
            return None
    except FolderBusy as busy:
        if busy.address is None:
            raise
        return busy.address
    except OSError as failed:
        raise unusable(folder, failed) from None


def address_of(folder: DataFolder) -> str:
    """Where the gateway of a folder listens; raises when none runs."""
    also = ""
    try:
        address = running_at(folder)
    except FolderBusy:
        address, also = None, " Another command works there; it may be a gateway that is just starting."
    if address is None:
        raise InterlockError(errors.NOT_RUNNING(folder=folder.path, also=also))
    return address


@contextlib.asynccontextmanager
async def own_gateway(
    config: "Config",
    hold: Hold,
    *,
    servers: bool,
    listen: bool = False,
    settle: bool = True,
    only: str | None = None,
    start_seconds: float | None = None,
) -> AsyncGenerator[OwnReach]:
    """A gateway of this process in a folder that is held, and the way to it."""
    from interlock.app.listening import asgi, listening
    from interlock.config.load import with_listen

    with contextlib.closing(bind("127.0.0.1", 0)) as listener:
        config = with_listen(config, "127.0.0.1", listener.getsockname()[1])
        async with contextlib.AsyncExitStack() as stack:
            gateway = await started(stack, config, hold, servers=servers, only=only, start_seconds=start_seconds)
            if listen:
                await stack.enter_async_context(listening(gateway, listener, hold))
            if settle:
                # Whoever stays can wait for a server when it is needed; a verb asks once, so it waits for all of them.
                await gateway.fleet.settled(SERVER_SECONDS)
            listened = config.settings.listen
            yield OwnReach(asgi(gateway), f"{listened.host}:{listened.port}")


async def started(
    stack: contextlib.AsyncExitStack,
    config: "Config",
    hold: Hold,
    *,
    servers: bool,
    only: str | None = None,
    start_seconds: float | None = None,
) -> "Gateway":
    """A gateway of this process, which ends with the stack."""
    from interlock.app.gateway import running_gateway
    from interlock.cli.logs import logged
    from interlock.store.protocol import StoreUnavailable

    stack.enter_context(logged())
    database = database_of(config, hold.folder)
    stack.enter_context(_told_what_is_lost(hold.folder, database))
    configured = config.settings.servers
    # Without any there is the sample.
    enabled = [name for name, each in configured.items() if each.enabled] if configured else [only or ""]
    starting = len(enabled) if only is None else enabled.count(only)
    if servers and starting and sys.stderr.isatty():
        note(f"Starting {counted(starting, 'server')}…")
    try:
        return await stack.enter_async_context(
            running_gateway(config, hold, servers=servers, only=only, start_seconds=start_seconds)
        )
    except StoreUnavailable as failed:
        raise InterlockError(unusable_store(hold.folder, database, failed)) from None


def database_of(config: "Config", folder: DataFolder) -> str | None:
    """The database in PostgreSQL that the gateway of a folder works on, as it is told; None where that is the file in
    the folder. Raises ConfigError."""
    from interlock.app.compiled import store_address
    from interlock.store.postgres_address import shown_database

    address = store_address(config, os.environ)
    return None if address == "sqlite" or folder.is_of_a_run else shown_database(address)


def unusable_store(folder: DataFolder, database: str | None, failed: "StoreUnavailable") -> Reason:
    """Why nothing can be started on a store."""
    from interlock.store.postgres_address import begin_sentence

    if database is None:
        return errors.STORE_UNUSABLE(folder=folder.path, problem=failed)
    return errors.DATABASE_UNUSABLE(place=begin_sentence(database), problem=failed)


@contextlib.contextmanager
def _told_what_is_lost(folder: DataFolder, database: str | None) -> Generator[None]:
    """A store that cannot write its last records says so when the gateway ends, and so does one whose log another
    gateway goes on with."""
    from interlock.store.protocol import StoreUnavailable
    from interlock.store.shared import Twin

    try:
        yield
    except Twin:
        raise InterlockError(errors.LOG_TAKEN(folder=folder.path)) from None
    except StoreUnavailable as failed:
        if database is not None:
            raise InterlockError(errors.DATABASE_CUT_SHORT(place=database, problem=failed)) from None
        raise InterlockError(errors.RECORD_CUT_SHORT(folder=folder.path, problem=failed)) from None


# REST -----------------------------------------------------------------------------------------------------------


class Vanished(InterlockError):
    """Whoever had announced itself was gone before anything was asked of it, so asking anew loses nothing."""


class Unreadable(InterlockError):
    """What was answered is no JSON that could be read here. Of a call, that may be the doing of its server."""


class Refused(InterlockError):
    """The gateway said no. `problem` is all that it said of it."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        super().__init__(reason_of(problem))
        self.problem = problem


class Api:
    """The REST face, asked as the operator."""

    def __init__(self, reach: Reach, credential: str) -> None:
        self._reach = reach
        self._credential = credential
        self._heard: set[str] = set()
        """The methods of all that was answered."""

    @contextlib.asynccontextmanager
    async def _asking(self, ask: Ask) -> AsyncGenerator[Response]:
        try:
            async with self._reach.ask(ask) as response:
                self._heard.add(ask.method)
                yield response
        except Unreachable as gone:
            kind = Vanished if isinstance(gone, NotSent) and self._is_first(ask.method) else InterlockError
            raise kind(errors.GATEWAY_GONE(problem=gone)) from None

    def _is_first(self, method: str) -> bool:
        """Whether nothing would be done twice if all were asked anew: what a verb only looked up before it acts may be
        looked up again, but what it has shown may not be shown again."""
        return not self._heard or (method != _LOOK and self._heard == {_LOOK})

    async def get(self, *path: str, **query: str | int | None) -> Any:
        """What is at a path; each part is one segment, whatever is in it."""
        given = {key: value for key, value in query.items() if value is not None}
        return await self._ask("GET", path, f"?{urlencode(given)}" if given else "")

    @contextlib.asynccontextmanager
    async def stream(
        self, *path: str, query: Mapping[str, str | None], last_event: int | str | None = None
    ) -> AsyncGenerator[Response]:
        """An answer that is read while it comes. `last_event` resumes an event stream."""
        given = {key: value for key, value in query.items() if value is not None}
        headers = {"authorization": f"Bearer {self._credential}"}
        if last_event is not None:
            headers["last-event-id"] = str(last_event)
        async with self._asking(Ask("GET", f"{'/'.join((API, *path))}?{urlencode(given)}", headers)) as response:
            if response.status >= 400:
                raise Refused(_object(await response.whole()))
            yield response

    async def post(self, *path: str, body: Mapping[str, Json]) -> Any:
        return await self._ask("POST", path, body=body)

    async def delete(self, *path: str) -> Any:
        return await self._ask("DELETE", path)

    async def _ask(
        self, method: str, path: tuple[str, ...], query: str = "", body: Mapping[str, Json] | None = None
    ) -> Any:
        if "" in path:
            raise bad("a name or an id is empty", "Give it as it is listed.")
        target = "/".join((API, *(quote(part, safe="") for part in path))) + query
        headers = {"authorization": f"Bearer {self._credential}", "accept": "application/json"}
        content = b""
        if body is not None:
            content = json.dumps(body, ensure_ascii=False).encode("utf-8")
            headers["content-type"] = "application/json"
        async with self._asking(Ask(method, target, headers, content)) as response:
            answer = await response.whole()
        said = _object(answer)
        if response.status >= 400 or response.headers.get("content-type", "") == "application/problem+json":
            raise Refused(said)
        return said


def _object(answer: bytes) -> dict[str, Any]:
    """An answer of the REST face: always one JSON object."""
    try:
        said = json.loads(answer)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise Unreadable(errors.GATEWAY_GONE(problem="what answers at its address is no gateway"))
    return cast("dict[str, Any]", said)


def reason_of(problem: Mapping[str, Any]) -> Reason:
    """The reason inside a problem+json document, or inside the plainer refusal of the outermost door."""
    code = problem.get("code")
    known = Code(code) if code in Code.__members__ else None
    text = problem.get("detail", problem.get("error", "the gateway refused and did not say why"))
    return Reason(str(text), known, str(problem.get("fix", "")))


Work = Callable[[Api], Awaitable[Exit]]


def through_gateway(values: Values, work: Work, *, servers: bool = False, listen: bool = False) -> Exit:
    """Run a verb against the REST face of the gateway of the data folder."""
    return asyncio.run(_through_gateway(values, work, servers=servers, listen=listen))


async def _through_gateway(values: Values, work: Work, *, servers: bool, listen: bool) -> Exit:
    for _ in range(_ATTEMPTS):
        # Another verb may have opened its door for a moment and closed it before we came to it.
        with contextlib.suppress(Vanished):
            return await _once(values, work, servers=servers, listen=listen)
        await asyncio.sleep(_PAUSE)
    return await _once(values, work, servers=servers, listen=listen)


async def _once(values: Values, work: Work, *, servers: bool, listen: bool) -> Exit:
    outcome: Exit | InterlockError = Exit.INTERNAL
    async with reaching(values, servers=servers, listen=listen) as reach:
        try:
            outcome = await work(Api(reach, credential_of(folder_of(values))))
        except InterlockError as failed:
            # Raised further down: on its way through the task groups of a gateway it would become a group.
            outcome = failed
    if isinstance(outcome, InterlockError):
        raise outcome
    return outcome


def credential_of(folder: DataFolder) -> str:
    """What a verb acts by: the token that was given, or the operator's credential, for the gateway of the folder."""
    try:
        found = os.environ.get(TOKEN) or folder.credential()
    except (OSError, UnicodeDecodeError):
        found = None
    if found is None or not found.isascii() or not found.isprintable():
        raise InterlockError(errors.NO_CREDENTIAL(folder=folder.path))
    return found


def operator_headers(values: Values) -> dict[str, str]:
    """What tells the gateway in which folder a process of the operator was started."""
    from interlock.receive.workspaces import folder_headers

    try:
        here = os.getcwd()
    except OSError:  # it was deleted: then it is in no workspace
        return {}
    return folder_headers(here, folder_of(values).credential() or "")
