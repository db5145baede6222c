"""Finding what a person means among what the gateway knows: a tool by its name, a server by its id or namespace, an
approval or a grant by a part of its id.

A name that fits several things is refused with all of them, never resolved by a guess.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock import errors
from interlock.cli.gateway import Api
from interlock.cli.inputs import bad, known, split_tool
from interlock.cli.render import note
from interlock.errors import Code, InterlockError

_SHOWN = 10
_LONGEST_QUERY = 200
FEWEST = 4
"""So many characters of an id are enough, if no other id has them in that place."""


@dataclass(frozen=True, slots=True)
class FoundTool:
    """A tool that was named. `detail` is what REST says of it, or the error that says that there is no such tool."""

    server: str
    tool: str
    detail: Mapping[str, Any] | InterlockError


async def find_tool(api: Api, name: str) -> FoundTool:
    """The tool behind `server:tool`, or behind a bare name that only one server has."""
    server, tool = split_tool(name)
    if server is None:
        server = await _only_server_with(api, tool)
    try:
        return FoundTool(server, tool, await api.get("tools", server, tool))
    except InterlockError as failed:
        if failed.reason.code is not Code.NOT_FOUND:
            raise
        return FoundTool(server, tool, failed)


async def _only_server_with(api: Api, tool: str) -> str:
    mentioned = (await api.get("tools", q=tool[:_LONGEST_QUERY]))["items"]
    servers: list[str] = sorted(each["server"] for each in mentioned if each["tool"] == tool)
    if len(servers) == 1:
        return servers[0]
    if not servers:
        raise await _no_such_tool(api, tool)
    listed = ", ".join(f"{server}:{tool}" for server in servers[:_SHOWN])
    more = f" and {len(servers) - _SHOWN} more" if len(servers) > _SHOWN else ""
    raise bad(f"several servers have a tool '{tool}': {listed}{more}", "Say which one, as server:tool.")


async def _no_such_tool(api: Api, tool: str) -> InterlockError:
    from interlock.core.toolbook import nearest

    await note_servers_down(api)
    items = (await api.get("tools"))["items"]
    suggestion = nearest(tool, [each["tool"] for each in items])
    return InterlockError(errors.NOT_FOUND(what=f"Tool '{tool}'", suggestion=suggestion))


async def find_server(api: Api, name: str | None) -> str | None:
    """The id of a server that is named by its id or its namespace; None stays None."""
    if name is None:
        return None
    servers = (await api.get("servers"))["items"]
    by_namespace = {each["namespace"]: each["id"] for each in servers}
    return known("server", by_namespace.get(name, name), [each["id"] for each in servers])


async def note_servers_down(api: Api) -> None:
    """Say which servers do not run: what is not found may be theirs."""
    for each in (await api.get("servers"))["items"]:
        if each["health"] != "ready":
            why = f": {each['problem']}" if each["problem"] else ""
            note(f"Server '{each['id']}' is {each['health']}{why}")


def by_part(given: str, ids: Sequence[str], what: str) -> str | None:
    """The one id that is this, or begins or ends with it; None when there is none. Several are refused."""
    if given in ids:
        return given
    if len(given) < FEWEST:
        raise bad(f"'{given}' is too short for an id", f"Give at least {FEWEST} characters, from its beginning or end.")
    fitting = [each for each in ids if _is_part(given, each)]
    if len(fitting) > 1:
        more = f" and {len(fitting) - _SHOWN} more" if len(fitting) > _SHOWN else ""
        listed = ", ".join(fitting[:_SHOWN])
        raise bad(f"several {what}s begin or end with '{given}': {listed}{more}", "Give more of the id.")
    return fitting[0] if fitting else None


def _is_part(given: str, whole: str) -> bool:
    # Nobody who types the beginning of an id has to type the two letters that say what it is of.
    return whole.startswith(given) or whole.partition("_")[2].startswith(given) or whole.endswith(given)
