"""The servers behind the gateway: how each is doing, and what it last wrote to its stderr."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query, Response
from pydantic import BaseModel, ConfigDict, Field

from interlock import errors
from interlock.core.health import Upstreams, UpstreamState
from interlock.core.redact import redact_text
from interlock.core.toolbook import nearest
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.parts import Here
from interlock.web.problems import Refusal

MAX_LINES = 1000


@dataclass(frozen=True, slots=True)
class ShownServer:
    """A server. `problem` says why it is down, else it is empty; `since` is when it came to be as it is."""

    id: str
    namespace: str
    transport: str
    health: str
    problem: str
    tools: int
    protocol_version: str
    trusted: bool
    since: str
    restarts: int


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
    items = [_shown(each) for each in here.upstreams.states()]
    return json_answer(ServerList(items, len(items)))


async def get_server(server: str, here: Here) -> Response:
    """Show one server."""
    return json_answer(_shown(found_server(here.upstreams, server)))


async def get_server_logs(server: str, query: Annotated[LogQuery, Query()], here: Here) -> Response:
    """Show what a server last wrote to its stderr."""
    lines = here.upstreams.logs(found_server(here.upstreams, server).id) or ()
    return json_answer(LogLines([redact_text(line) for line in lines[-query.limit :]]))


def found_server(upstreams: Upstreams, server: str) -> UpstreamState:
    """The server of this id or namespace."""
    states = upstreams.states()
    by_name = {each.namespace: each for each in states} | {each.id: each for each in states}
    found = by_name.get(server)
    if found is None:
        suggestion = nearest(server, [each.id for each in states])
        raise Refusal(errors.NOT_FOUND(what=f"Server '{server[:100]}'", suggestion=suggestion))
    return found


def _shown(state: UpstreamState) -> ShownServer:
    return ShownServer(
        id=state.id,
        namespace=state.namespace,
        transport=state.transport,
        health=state.health,
        # A server chooses these words, and some repeat what they were started with.
        problem=redact_text(state.problem),
        tools=state.tools,
        protocol_version=state.protocol_version,
        trusted=state.trusted,
        since=times.iso(state.since),
        restarts=state.restarts,
    )
