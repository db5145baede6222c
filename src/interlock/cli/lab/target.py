"""The server that a verb of the lab is about, put on the bench.

A server of the configuration is called through the gateway of the data folder: the one that runs, or one that is
started for the occasion with that server only. A command line or a URL is run behind a gateway of the run's own, with
the rules and lists of the user, whose record is kept in the folder of the run. Either way every call is decided about
and recorded as any other, and a freeze of the user's gateway stops it.

This module refuses to guess: a bare word is the id of a server, never a program that happens to be called so.
"""

import contextlib
import os
import re
import shlex
import shutil
import signal
import threading
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from interlock import errors
from interlock.cli.command import Values
from interlock.cli.gateway import Api, Vanished, credential_of, folder_of, own_gateway, reaching, remote
from interlock.cli.inputs import bad, load_config
from interlock.cli.lab.bench import RestBench, frozen
from interlock.cli.lab.options import knobs_of
from interlock.cli.lab.tidy import leaving_the_record
from interlock.clock import SystemClock
from interlock.core.model import Json
from interlock.core.redact import KnownSecrets, redact_text
from interlock.errors import Code, InterlockError, Reason
from interlock.lab.run import REPORT, Knobs, RunFolder
from interlock.receive.reach import RemoteReach
from interlock.store.folder import DataFolder
from interlock.store.protocol import new_id

if TYPE_CHECKING:
    from interlock.config.load import Config

_PACKAGE_RUNNERS = ("npx", "uvx", "uv", "run", "tool", "bunx", "pnpm", "dlx", "pipx", "docker", "podman")
_RUNNERS = frozenset((*_PACKAGE_RUNNERS, "node", "deno", "python", "python3", "env", "exec", "interlock", "il"))
"""Words that say how a program is started and not which."""
_ANY_PROGRAM = frozenset(("index", "main", "__main__", "cli", "dist", "build", "src", "lib", "bin", "out"))
"""Names that any program may have; the folder that it is in says more."""
_ENDINGS = re.compile(r"\.(py|js|mjs|cjs|ts|sh|exe)$")
_LONGEST_ID = 40
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://")
_LAST_WORDS = 300
_LAST_LINES = 3
"""How much is told of what a server wrote to stderr: so many lines, and so many characters of each."""
START_SECONDS = 10.0
"""A program that is there has answered by then, or never will."""


@dataclass(frozen=True, slots=True)
class Site:
    """A server on the bench, and where the run is kept. `target` is how the user named it, without secrets."""

    bench: RestBench
    run: RunFolder
    target: str
    knobs: Knobs
    server: dict[str, Any]
    secrets: KnownSecrets
    """What a server may repeat, and no report may show."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What TARGET means: exactly one of the three is set."""

    server: str | None = None
    url: str | None = None
    argv: tuple[str, ...] = ()
    more: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """What else the configuration would say of a server that is not in it: `env`, `cwd` or `headers`."""

    @property
    def shown(self) -> str:
        """The words of it, without secrets."""
        return redact_text(self.server or self.url or shlex.join(self.argv))

    @property
    def id(self) -> str:
        """What the server is called in rules and in the log."""
        if self.server is not None:
            return self.server
        return _as_id(urlsplit(self.url).hostname or "" if self.url else _program(self.argv))


def target_given(values: Values) -> Wanted:
    """What TARGET means on this command line."""
    return wanted(values.target, is_command=getattr(values, "is_command", False))


def wanted(words: Sequence[str], *, is_command: bool = False) -> Wanted:
    """What the words of TARGET mean; behind `--` a single word is a program too, and not the id of a server."""
    first = words[0]
    if len(words) > 1:
        return Wanted(argv=tuple(words))
    if first.startswith(("http://", "https://")):
        return Wanted(url=first)
    if _SCHEME.match(first):
        raise bad(f"{first.partition(':')[0]} is no way to an MCP server", "Give an http or https URL.")
    try:
        argv = shlex.split(first)
    except ValueError:
        raise bad("TARGET is no command line", "Close its quotes, or give its words after --.") from None
    if len(argv) > 1 or "/" in first or (argv and is_command):
        return Wanted(argv=tuple(argv))
    if not argv:
        raise bad("TARGET is empty", "Name a server id, a URL or a command line.")
    return Wanted(server=first)


def start_seconds(target: Wanted) -> float | None:
    """How long a target may take to answer. One that is fetched first, or is elsewhere, has the time that servers of
    the configuration have: None."""
    fetched = any(each.rpartition("/")[2] in _PACKAGE_RUNNERS for each in target.argv[:1])
    return START_SECONDS if target.argv and not fetched else None


def _program(argv: Sequence[str]) -> str:
    """The word of a command line, or of a path in it, that says most about what it runs."""
    words = [each for each in argv if not each.startswith("-") and "=" not in each]
    telling = [each for each in words if each.rpartition("/")[2] not in _RUNNERS]
    parts = [each for each in (telling or words or list(argv))[0].split("/") if each] or [""]
    names = [_ENDINGS.sub("", re.sub(r"(?<=.)@.*$", "", each)) for each in reversed(parts)]
    return next((each for each in names if each not in _ANY_PROGRAM), names[0])


def _as_id(name: str) -> str:
    """A name as an id that the configuration would take."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_LONGEST_ID].strip("-")
    return plain or "server"


@contextlib.asynccontextmanager
async def at_target(values: Values, given: Wanted | None = None) -> AsyncGenerator[Site]:
    """The server of `values.target`, or the `given` one, on the bench until the block ends. Raises InterlockError if it
    does not run."""
    target, config = given or target_given(values), load_config(values)
    knobs = knobs_of(values, config.settings.lab)
    run = RunFolder.make(folder_of(values).path, new_id(SystemClock().now()))
    outcome: Site | InterlockError | None = None
    try:
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(_ended_in_order())
            try:
                begin = _configured if target.server is not None else _own
                outcome = await begin(stack, values, config, target, knobs, run)
                yield outcome
            except InterlockError as failed:
                _leave(run, outcome)
                outcome = failed  # carried past the task groups of a gateway, which would wrap it
    finally:
        _leave(run, outcome)
    if isinstance(outcome, InterlockError):
        raise outcome


@contextlib.contextmanager
def _ended_in_order() -> Generator[None]:
    """Have SIGTERM end a run as Ctrl-C does: with what there is by then, and no process left."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _leave(run: RunFolder, outcome: Site | InterlockError | None) -> None:
    """Keep nothing of a run in which nothing happened."""
    called = isinstance(outcome, Site) and outcome.bench.calls > 0
    if not called and not (run.path / REPORT).exists():
        shutil.rmtree(run.path, ignore_errors=True)


async def _configured(
    stack: contextlib.AsyncExitStack, values: Values, config: "Config", target: Wanted, knobs: Knobs, run: RunFolder
) -> Site:
    """A server of the configuration, through the gateway of the data folder."""
    name = target.id
    reach = await stack.enter_async_context(reaching(values, servers=True, listen=True, only=name))
    api = Api(reach, credential_of(folder_of(values)))
    try:
        state = await api.get("servers", name)
    except InterlockError as refused:
        if refused.reason.code is not Code.NOT_FOUND:
            raise
        fix = "`interlock server list` shows the ids. A program is given with its path or its arguments, after --."
        raise InterlockError(replace(refused.reason, fix=fix)) from None
    if state["health"] != "ready":
        raise InterlockError(errors.UPSTREAM_DOWN(server=name, problem=state["problem"] or state["health"]))
    ours = not isinstance(reach, RemoteReach)
    bench = RestBench(api, state["id"], knobs.policy, is_http=state["transport"] == "http", ours=ours)
    return Site(bench, run, target.shown, knobs, server_of(state), _secrets(config))


async def _own(
    stack: contextlib.AsyncExitStack, values: Values, config: "Config", target: Wanted, knobs: Knobs, run: RunFolder
) -> Site:
    """A server that is nowhere configured, behind a gateway of the run's own."""
    folder = folder_of(values)
    async with reaching(values, servers=False) as reach:
        stopped = await frozen(Api(reach, credential_of(folder)), target.id)
    if stopped is not None:
        raise InterlockError(stopped)
    own = DataFolder(run.path)
    hold = stack.enter_context(own.hold())
    stack.enter_context(leaving_the_record(own))
    config = _alone(config, target, knobs)
    reach = await stack.enter_async_context(
        own_gateway(config, hold, servers=True, start_seconds=start_seconds(target))
    )
    api = Api(reach, own.credential() or "")
    state = await api.get("servers", target.id)
    if state["health"] != "ready":
        problem = state["problem"] or "it has not answered in time"
        raise InterlockError(errors.TARGET_DOWN(target=target.shown, problem=problem + await _last_words(api, target)))
    is_http = target.url is not None
    bench = RestBench(
        api, target.id, knobs.policy, is_http=is_http, ours=True, guard=partial(_frozen_by_user, folder, target.id)
    )
    return Site(bench, run, target.shown, knobs, server_of(state), _secrets(config))


async def _last_words(api: Api, target: Wanted) -> str:
    """What the server wrote last, if it wrote anything: most often that says it all."""
    lines = [each for each in (await api.get("servers", target.id, "logs"))["items"] if each.strip()]
    if not lines:
        return ". It wrote nothing to stderr" if target.argv else ""
    told = " | ".join(each.strip()[:_LAST_WORDS] for each in lines[-_LAST_LINES:])
    return f". The last that it wrote: {told}"


async def _frozen_by_user(folder: DataFolder, server: str) -> Reason | None:
    """Why there is to be no call, by the word of the gateway of the user, if one runs by now."""
    address = folder.announced()
    if address is None:
        return None
    with contextlib.suppress(Vanished):
        return await frozen(Api(remote(address, folder), credential_of(folder)), server)
    return None


def _alone(config: "Config", target: Wanted, knobs: Knobs) -> "Config":
    """The user's rules and lists, with this one server."""
    from interlock.config.roster import checked
    from interlock.config.tree import Notices, Settings

    definition: dict[str, Json] = {"url": target.url}
    if target.argv:
        definition = {"command": target.argv[0], "args": list[Json](target.argv[1:])}
    # Checked by itself: the rules of the user may name servers that are not there now.
    server = checked(Settings(), target.id, {**definition, **target.more})
    timed = server.model_copy(update={"call_timeout": timedelta(seconds=knobs.timeout)})
    # Without the file, which would bring the other servers back when it changes; nobody waits there to be told.
    settings = config.settings.model_copy(update={"servers": {target.id: timed}, "notices": Notices()})
    return replace(config, settings=settings, file=None)


def _secrets(config: "Config") -> KnownSecrets:
    from interlock.app.compiled import secrets_of

    return KnownSecrets(secrets_of(config, os.environ))


def server_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """What a run keeps of its server: the id that it has here, and what it says of itself."""
    said = {"name": state["says_name"] or state["id"], "version": state["says_version"]}
    return {"id": state["id"], **said, "protocol": state["protocol_version"], "transport": state["transport"]}
