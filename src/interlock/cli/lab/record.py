"""`interlock record`: stands before a server as the gateway does, and writes what the server answers into a cassette.

Calls go the way that they always go: rules and holds apply, and everything is on record, in a folder of the run's own.
To clients it looks like the server: its name, its instructions and its tools. Our own tools are not listed, because a
recording is of one server and a client that is replayed to later would look for them in vain; whoever waits for an
approval repeats the call, as the refusal says.
Stdout belongs to the protocol. This module refuses to write over a file, and to record a server that is stopped.
"""

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import AsyncGenerator, Coroutine, Generator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from interlock import errors
from interlock.cli.command import Options, Values, Verb
from interlock.cli.gateway import SERVER_SECONDS, folder_of, started
from interlock.cli.inputs import bad, load_config
from interlock.cli.lab.alone import alone
from interlock.cli.lab.options import add_target
from interlock.cli.lab.playing import add_http
from interlock.cli.lab.stops import follow_stops, see_that_nothing_stops
from interlock.cli.lab.target import Wanted, start_seconds, target_given
from interlock.cli.lab.tidy import leaving_the_record
from interlock.cli.loading import load_module
from interlock.cli.openings import bind, claim_stdout
from interlock.cli.render import counted, note
from interlock.clock import SystemClock
from interlock.core.health import Health
from interlock.core.redact import KnownSecrets
from interlock.errors import Exit, InterlockError
from interlock.lab.played.cassette import CassetteFile
from interlock.lab.played.tape import Tape
from interlock.lab.run import RunFolder
from interlock.receive.identify import LOCAL
from interlock.store.folder import DataFolder
from interlock.store.protocol import new_id

if TYPE_CHECKING:
    from interlock.app.gateway import Gateway


def _options(parser: Options) -> None:
    add_target(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the cassette to write (JSON Lines)")
    add_http(parser)


def _record(values: Values) -> Exit:
    if os.path.lexists(values.output):
        raise _there_already(values.output)
    stdout = claim_stdout() if values.http is None else None
    failed = asyncio.run(_run(values, stdout))
    if failed is not None:
        raise failed
    return Exit.OK


async def _run(values: Values, stdout: int | None) -> InterlockError | None:
    """Record until the client leaves or a signal comes; what went wrong comes back, because on its way through the
    task groups of a gateway it would become a group."""
    problem: InterlockError | None = None
    try:
        async with _recording(values) as session:
            try:
                await session.serve(values, stdout)
            except InterlockError as failed:
                problem = failed
    except InterlockError as failed:
        problem = failed
    return problem


@contextlib.asynccontextmanager
async def _recording(values: Values) -> "AsyncGenerator[_Session]":
    """A gateway of the run's own, with the one server."""
    load_module("interlock.app.listening")
    from interlock.app.listening import listening
    from interlock.config.load import with_listen

    target, folder = target_given(values), folder_of(values)
    config = alone(load_config(values), target)
    await see_that_nothing_stops(values, target.id, LOCAL)
    async with contextlib.AsyncExitStack() as stack:
        run = stack.enter_context(_run_folder(folder.path, Path(values.output)))
        own = DataFolder(run.path)
        hold = stack.enter_context(own.hold())
        stack.enter_context(leaving_the_record(own))
        listener = stack.enter_context(contextlib.closing(bind("127.0.0.1", values.http or 0, option="--http")))
        port = listener.getsockname()[1]
        seconds = start_seconds(target)
        config = with_listen(config, "127.0.0.1", port)
        gateway = await started(stack, config, hold, servers=True, start_seconds=seconds)
        await gateway.fleet.settled(SERVER_SECONDS)
        (state,) = gateway.fleet.states()
        # Before anybody can come in: what a client is told at first, it keeps.
        gateway.face.in_place_of = replace(state.introduction, name=state.introduction.name or target.id)
        await stack.enter_async_context(listening(gateway, listener, hold))
        follow_stops(folder, gateway.pipeline, gateway.parts.room.freezer)
        yield _Session(gateway, target, hold.folder, port)


@contextlib.contextmanager
def _run_folder(data: Path, cassette: Path) -> Generator[RunFolder]:
    """A folder for the run; nothing is kept of one that came to no cassette."""
    try:
        run = RunFolder.make(data, new_id(SystemClock().now()))
    except OSError as failed:
        raise bad(f"{data}: {failed.strerror}", "Choose a folder of yours with --data-dir.") from None
    try:
        yield run
    finally:
        if not cassette.exists():
            shutil.rmtree(run.path, ignore_errors=True)


class _Session:
    """One recording under way."""

    def __init__(self, gateway: "Gateway", target: Wanted, folder: DataFolder, port: int) -> None:
        self._gateway, self._target, self._folder, self._port = gateway, target, folder, port
        self._server = target.id

    async def serve(self, values: Values, stdout: int | None) -> None:
        (state,) = self._gateway.fleet.states()
        if state.health is not Health.READY:
            problem = state.problem or "it has not answered in time"
            raise InterlockError(errors.TARGET_DOWN(target=self._target.shown, problem=problem))
        with _opened(values.output) as file:
            tape = Tape(file, self._server, lambda: KnownSecrets(self._gateway.hidden))
            tape.begin(state.protocol_version, state.introduction)
            tape.lists(self._lists())
            tape.listen(self._gateway.pipeline)
            self._greet(values)
            await _until_told_to_stop(self._wait() if stdout is None else self._talk(stdout))
            if self._gateway.fleet.states()[0].health is Health.READY:  # one that is gone lists nothing
                tape.lists(self._lists())
        note(f"Recorded {counted(tape.count, 'interaction')} in {values.output}.")
        if tape.problem:
            raise InterlockError(errors.CASSETTE_CUT(file=values.output, problem=tape.problem))

    def _greet(self, values: Values) -> None:
        note(f"Recording '{self._server}' into {values.output}; its activity is recorded in {self._folder.path}.")
        note(f"Calls that wait for an approval: `interlock approval list --data-dir {self._folder.path}`.")
        if values.http is not None:
            note(f"Listening on http://127.0.0.1:{self._port}/mcp — Ctrl-C stops.")

    def _lists(self) -> dict[str, list[Any]]:
        """What the server lists now, in its own words."""
        pipeline = self._gateway.pipeline
        lists: dict[str, list[Any]] = {
            "tools": [dict(each.descriptor) for each in pipeline.book.by_server.get(self._server, {}).values()]
        }
        offer = pipeline.offers.by_server.get(self._server)
        if offer is not None:
            lists |= {
                str(kind): [msgspec.json.decode(each) for each in entries.values()]
                for kind, entries in offer.listed.items()
            }
        return lists

    async def _talk(self, stdout: int) -> None:
        from interlock.app.listening import asgi
        from interlock.receive.edge import MAX_BODY
        from interlock.receive.reach import OwnReach, Reach
        from interlock.receive.stdio import serve_stdio

        reach = OwnReach(asgi(self._gateway), f"127.0.0.1:{self._port}")

        async def renewed() -> Reach:
            return reach  # one answer broke off; the gateway itself lives as long as this process

        await serve_stdio(reach, renewed, headers=self._headers(), limit=MAX_BODY, stdin=0, stdout=stdout)

    def _headers(self) -> dict[str, str]:
        """What tells the gateway in which folder, and so in which workspace, the client was started."""
        from interlock.receive.workspaces import folder_headers

        try:
            return folder_headers(os.getcwd(), self._folder.credential() or "")
        except OSError:  # it was deleted: then it is in no workspace
            return {}

    async def _wait(self) -> None:
        await asyncio.Event().wait()


def _there_already(path: str) -> InterlockError:
    return bad(f"{path} is there already", "Choose another file with -o, or remove that one.")


@contextlib.contextmanager
def _opened(path: str) -> Generator[CassetteFile]:
    try:
        file = CassetteFile(Path(path))
    except FileExistsError:
        raise _there_already(path) from None
    except OSError as failed:
        raise bad(f"{path}: {failed.strerror}", "Choose a file that can be written with -o.") from None
    try:
        yield file
    finally:
        file.close()


async def _until_told_to_stop(work: Coroutine[Any, Any, None]) -> None:
    async with asyncio.TaskGroup() as group:
        working = group.create_task(work)
        for each in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(each, working.cancel)


VERB = Verb(
    "record",
    "Record what a server answers to a client, as a cassette that `interlock replay` serves again.",
    _options,
    _record,
    (
        "interlock record github -o github.jsonl",
        "interlock record -o everything.jsonl -- npx -y @modelcontextprotocol/server-everything",
        "interlock record https://example.org/mcp -o far.jsonl --http 9000",
    ),
)
