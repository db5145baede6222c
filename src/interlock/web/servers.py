"""The servers behind the gateway: how each is doing, what it last wrote to its stderr, and which there are.

What is changed here is in force when it is answered, without touching the other servers. The configuration file is not
written: what was added or switched here is kept in the store.
"""

import contextlib
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

from fastapi import Query, Response
from pydantic import BaseModel, ConfigDict, Field

from interlock import errors
from interlock.core.health import Health, Upstreams, UpstreamState
from interlock.core.model import Json
from interlock.core.redact import KnownSecrets, redact_text
from interlock.core.roster import Entry
from interlock.core.toolbook import nearest
from interlock.errors import Conflict, InterlockError
from interlock.receive.identify import Principal
from interlock.web.answers import json_answer
from interlock.web.parts import Here, Parts, Who
from interlock.web.preview import ToolCounts, tool_counts
from interlock.web.problems import Refusal
from interlock.web.shown import ShownState, shown_server

MAX_LINES = 1000


@dataclass(frozen=True, slots=True)
class ShownServer(ShownState):
    """A server: how it is doing and how it came to be. One that is switched off is `stopped`."""

    enabled: bool
    added: bool


@dataclass(frozen=True, slots=True)
class AddedServer:
    """A server that was added, and what would become of calls of the tools that it has listed so far."""

    server: ShownServer
    tools: ToolCounts


@dataclass(frozen=True, slots=True)
class RemovedServer:
    id: str


class WantedServer(BaseModel):
    """A server: its id, and the settings that it would have under `servers` in the configuration file.

    Either `command` (with `args`, `env`, `cwd`) or `url` (with `headers`); then `namespace`, `trusted`, `enabled`,
    `posture`, `call_timeout`, `max_concurrent`, `sessions`, `auth_scope_id`. Secrets by reference only: `${env:NAME}`.
    """

    model_config = ConfigDict(extra="allow", strict=True)

    id: str


@dataclass(frozen=True, slots=True)
class ServerList:
    items: list[ShownServer]
    total: int


@dataclass(frozen=True, slots=True)
class LogLines:
    """The last lines, oldest first."""

    items: list[str]


class LogQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=200, ge=1, le=MAX_LINES)


async def list_servers(here: Here) -> Response:
    """List all servers."""
    items = _all(here)
    return json_answer(ServerList(items, len(items)))


async def get_server(server: str, here: Here) -> Response:
    """Show one server."""
    return json_answer(any_server(here, server))


async def add_server(wanted: WantedServer, here: Here, who: Who) -> Response:
    """Add a server, and say what would become of its tools. It is kept, and starts again with the gateway."""
    definition: dict[str, Json] = dict(wanted.model_extra or {})
    with _refusals():
        await here.roster.add(wanted.id, definition, who.name)
    tools = here.pipeline.book.by_server.get(wanted.id, {}).values()
    counts = tool_counts(tools, here.pipeline.policy, here.workspaces.default, here.clock.now())
    return json_answer(AddedServer(any_server(here, wanted.id), counts), 201)


async def remove_server(server: str, here: Here, who: Who) -> Response:
    """Remove a server that was added."""
    with _refusals():
        await here.roster.remove(server, who.name)
    return json_answer(RemovedServer(server))


async def enable_server(server: str, here: Here, who: Who) -> Response:
    """Switch a server on."""
    return await _switched(server, here, who, enabled=True)


async def disable_server(server: str, here: Here, who: Who) -> Response:
    """Switch a server off. Calls under way may end."""
    return await _switched(server, here, who, enabled=False)


async def restart_server(server: str, here: Here, who: Who) -> Response:
    """Start a server anew. Calls under way may end; its references are read anew."""
    with _refusals():
        await here.roster.restart(server, who.name)
    return json_answer(any_server(here, server))


async def _switched(server: str, here: Parts, who: Principal, *, enabled: bool) -> Response:
    with _refusals():
        await here.roster.switch(server, enabled, who.name)
    return json_answer(any_server(here, server))


@contextlib.contextmanager
def _refusals() -> Generator[None]:
    try:
        yield
    except InterlockError as refused:
        raise Refusal(refused.reason, status=409 if isinstance(refused, Conflict) else None) from None


async def get_server_logs(server: str, query: Annotated[LogQuery, Query()], here: Here) -> Response:
    """Show what a server last wrote to its stderr; nothing for one that does not run."""
    lines = here.upstreams.logs(any_server(here, server).id) or ()
    known = KnownSecrets(here.hidden)
    return json_answer(LogLines(_harmless(lines, known)[-query.limit :]))


def found_server(upstreams: Upstreams, server: str) -> UpstreamState:
    """The server of this id or namespace."""
    states = upstreams.states()
    by_name = {each.namespace: each for each in states} | {each.id: each for each in states}
    found = by_name.get(server)
    if found is None:
        suggestion = nearest(server, [each.id for each in states])
        raise Refusal(errors.NOT_FOUND(what=f"Server '{server[:100]}'", suggestion=suggestion))
    return found


def _all(here: Parts) -> list[ShownServer]:
    """The servers that run, and then those that are configured and do not."""
    entries = {each.id: each for each in here.roster.entries()}
    states = here.upstreams.states()
    running = [_shown(each, entries.get(each.id)) for each in states]
    known = {each.id for each in states}
    return [*running, *(_stopped(each) for each in entries.values() if each.id not in known)]


def any_server(here: Parts, server: str) -> ShownServer:
    """The server of this id or namespace, whether it runs or not."""
    shown = _all(here)
    by_name = {each.namespace: each for each in shown} | {each.id: each for each in shown}
    if server in by_name:
        return by_name[server]
    suggestion = nearest(server, [each.id for each in shown])
    raise Refusal(errors.NOT_FOUND(what=f"Server '{server[:100]}'", suggestion=suggestion))


def _shown(state: UpstreamState, entry: Entry | None) -> ShownServer:
    # One that runs and is not configured is the bundled sample.
    return ShownServer(**asdict(shown_server(state)), enabled=True, added=entry is not None and entry.added)


def _stopped(entry: Entry) -> ShownServer:
    why = entry.problem or ("" if entry.enabled else "it is switched off")
    health = Health.DOWN if entry.problem else Health.STOPPED
    state = UpstreamState(entry.id, entry.namespace, entry.transport, health, why, 0, "", entry.trusted)
    return ShownServer(**asdict(shown_server(state)), enabled=entry.enabled, added=entry.added)


def _harmless(lines: Sequence[str], known: KnownSecrets) -> list[str]:
    """The lines without secrets: first those that take several lines, as keys do, then those within one."""
    together = redact_text("\n".join(lines), known)
    return [redact_text(line, known) for line in together.split("\n")] if lines else []
