"""`interlock stdio`: what an agent's client starts to speak with the gateway over stdin and stdout.

If a gateway runs on the data folder, this is only a bridge to it; if none does, one runs in this process and serves
others too, until the client leaves. When a gateway in another process goes away, the next one is found or started and
the client is served on.

Stdout belongs to the protocol. Everything that a person should know goes to stderr; the token never does.
"""

import asyncio
import os
import re
import signal
import sys
from dataclasses import dataclass, field

from interlock import errors
from interlock.cli.command import Options, Values, Verb
from interlock.cli.gateway import TOKEN, folder_of, operator_headers, reaching
from interlock.cli.inputs import load_config
from interlock.cli.logs import logged
from interlock.cli.openings import claim_stdout
from interlock.cli.render import note
from interlock.errors import ConfigError, Exit, InterlockError
from interlock.receive.reach import Ask, OwnReach, Reach, RemoteReach, Unreachable
from interlock.receive.stdio import serve_stdio

PATIENCE = 15.0
"""How many seconds a gateway that is going away may take until another one has to be there."""
_PAUSE = 0.05
_TOKEN = re.compile(r"[\x21-\x7e]+")


def _no_options(parser: Options) -> None:
    """The options that every verb has are enough."""


def _stdio(values: Values) -> Exit:
    headers = _identity(os.environ.get(TOKEN, ""))
    if sys.stdin is not None and sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison] - it can be closed
        note("This is for MCP clients: they start it and write JSON-RPC to its stdin. Ctrl-D ends it.")
    with logged():
        failed = asyncio.run(_run(_Way(values, headers), claim_stdout()))
    if failed is not None:
        raise failed
    return Exit.OK


def _identity(token: str) -> dict[str, str]:
    """The header that says who the client is; none for `local`."""
    if not token:
        return {}
    if not _TOKEN.fullmatch(token):
        raise InterlockError(errors.TOKEN_UNUSABLE())
    return {"authorization": f"Bearer {token}"}


async def _run(way: "_Way", stdout: int) -> InterlockError | None:
    """Serve the client until it leaves or a signal comes; what kept it from being served at all."""
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(way.keep())
        serving = group.create_task(_serve(way, stdout))

        def stop() -> None:
            if not serving.cancelling():  # a second signal must not interrupt what the first one began
                serving.cancel()
            if not way.is_open:
                keeping.cancel()  # it may be starting servers that take their time

        for each in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(each, stop)
        await asyncio.wait({serving})
        way.close()
    return None if serving.cancelled() else serving.result()


async def _serve(way: "_Way", stdout: int) -> InterlockError | None:
    try:
        reach = await way.reach()
    except InterlockError as failed:
        return failed
    await serve_stdio(reach, way.renewed, headers=way.headers, limit=_limit(way.values), stdin=0, stdout=stdout)
    return None


def _limit(values: Values) -> int:
    """The longest line: as long as the body of a request may be."""
    from interlock.receive.edge import MAX_BODY

    try:
        return load_config(values).settings.limits.body
    except ConfigError:  # the gateway runs elsewhere, with a configuration that was good
        return MAX_BODY


@dataclass(slots=True)
class _Way:
    """The way to the gateway. One task enters and leaves it, because a gateway is stopped by whoever started it."""

    values: Values
    headers: dict[str, str]
    """What the requests say about us: the caller, and the folder that this process was started in."""
    is_open: bool = False
    _at: Reach | None = None
    _wanted: asyncio.Queue[asyncio.Future[Reach] | None] = field(
        default_factory=asyncio.Queue["asyncio.Future[Reach] | None"]
    )

    async def reach(self) -> Reach:
        """A gateway that answers; raises InterlockError."""
        wanted: asyncio.Future[Reach] = asyncio.get_running_loop().create_future()
        self._wanted.put_nowait(wanted)
        return await wanted

    async def renewed(self) -> Reach:
        """Another gateway, because the one before does not answer; raises Unreachable."""
        if isinstance(self._at, OwnReach):
            return self._at  # one answer broke off; the gateway itself lives as long as this process
        note("The gateway went away.")
        try:
            return await self.reach()
        except InterlockError as failed:
            raise Unreachable(failed.reason.text) from None

    def close(self) -> None:
        self._wanted.put_nowait(None)

    async def keep(self) -> None:
        """Be the task that enters and leaves, until the way is closed."""
        wanted = await self._wanted.get()
        while wanted is not None:
            try:
                wanted = await self._stay(wanted)
            except InterlockError as failed:
                if not wanted.done():
                    wanted.set_exception(failed)
                wanted = await self._wanted.get()

    async def _stay(self, wanted: "asyncio.Future[Reach]") -> "asyncio.Future[Reach] | None":
        """Be at a gateway until another one is wanted."""
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while True:
            async with reaching(self.values, servers=True, listen=True, settle=False) as reach:
                problem = await _problem(reach)
                if not problem:
                    self._tell(reach)
                    self.headers.update(operator_headers(self.values))
                    self._at, self.is_open = reach, True
                    if not wanted.done():  # who asked may have been cancelled
                        wanted.set_result(reach)
                    following = await self._wanted.get()
                    self.is_open = following is None
                    return following
            # The one that holds the folder has closed its door and will let go of the folder soon.
            if asyncio.get_running_loop().time() > deadline:
                raise InterlockError(errors.GATEWAY_GONE(problem=problem))
            await asyncio.sleep(_PAUSE)

    def _tell(self, reach: Reach) -> None:
        who = "the caller of its token" if "authorization" in self.headers else "'local'"
        folder = folder_of(self.values).path
        if isinstance(reach, RemoteReach):
            note(f"Connected as {who} to the gateway at {reach.address}, which works in {folder}.")
        else:
            note(f"Connected as {who} to a gateway in this process, which works in {folder}.")


async def _problem(reach: Reach) -> str:
    """What keeps the gateway from answering; nothing if it does."""
    try:
        async with reach.ask(Ask("GET", "/livez", {})) as response:
            await response.whole()
    except Unreachable as gone:
        return str(gone) or "it does not answer"
    return ""


VERB = Verb(
    "stdio",
    "Connect one MCP client over stdin and stdout. Put this command into the client's list of MCP servers.",
    _no_options,
    _stdio,
    ("interlock stdio", "interlock stdio --config team.yaml", "INTERLOCK_TOKEN=il_… interlock stdio"),
)
