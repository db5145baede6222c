"""The servers that there are: those of the configuration file, and those that were added or switched while we ran.

The file is the operator's and is never written by us; what is changed at run time is kept in the store. An id in the
file wins over one that was added. What was added and does not fit the file any more stays out, with the reason, and the
rest runs.

This module refuses a secret that stands in a setting as it is: it would end up in a database. It does not reach a
server; whoever does is told of every change.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from pydantic import ValidationError

from interlock import errors
from interlock.clock import Clock
from interlock.config.check import check, did_you_mean
from interlock.config.load import Config, stated
from interlock.config.paths import Path
from interlock.config.plain_secrets import plain_secrets
from interlock.config.tree import ID, Server, Settings
from interlock.core.lifecycle import CallState
from interlock.core.model import Json, JsonObject
from interlock.core.redact import redact
from interlock.core.roster import Entry
from interlock.core.toolbook import nearest
from interlock.errors import Conflict, InterlockError
from interlock.store.protocol import Activity, ActivityType, KeptServer, Store, new_id

Apply: TypeAlias = Callable[[Config, Sequence[str]], Awaitable[None]]
"""Takes up a configuration; the named servers are started anew, whatever has changed."""
ADDED, SWITCHED = "added while it ran", "switched while it ran"
"""The origins of values that stand in no file."""


async def _nobody(config: Config, anew: Sequence[str]) -> None:
    pass


class Roster:
    """All servers. `config` is the configuration with what was changed at run time in it; `on_change` takes it up."""

    def __init__(self, config: Config, store: Store, clock: Clock) -> None:
        self.config = config
        self.on_change: Apply = _nobody
        self._file = config
        self._store = store
        self._clock = clock
        self._kept: dict[str, KeptServer] = {}
        self._unfit: dict[str, str] = {}
        self._changing = asyncio.Lock()

    async def load(self) -> None:
        """Read what was changed at run time."""
        self._kept = dict(await self._store.kept_servers())
        self._merge()

    async def follow(self) -> None:
        """Read it anew, because another gateway has changed it, and take that up."""
        async with self._changing:
            await self._read_anew()

    async def _read_anew(self) -> None:
        kept = dict(await self._store.kept_servers())
        if kept != self._kept:
            self._kept = kept
            self._merge()
            await self.on_change(self.config, ())

    def entries(self) -> Sequence[Entry]:
        running = [self._entry(name, server) for name, server in self.config.settings.servers.items()]
        unfit = (Entry(name, name, "", False, False, True, why) for name, why in self._unfit.items())
        return [*running, *unfit]

    def _entry(self, name: str, server: Server) -> Entry:
        transport = "stdio" if server.url is None else "http"
        added = name not in self._file.settings.servers
        return Entry(name, server.namespace or name, transport, server.trusted, server.enabled, added)

    async def take_up(self, file: Config) -> None:
        """Go on with another version of the file."""
        async with self._changing:
            self._file = file
            self._merge()
            await self.on_change(self.config, ())

    # Changes ----------------------------------------------------------------------------------------------------

    async def add(self, server: str, definition: JsonObject, by: str) -> None:
        async with self._changing:
            if server in self.config.settings.servers or server in self._unfit:
                raise Conflict(errors.SERVER_EXISTS(id=server, where=self._where(server)))
            if secrets := plain_secrets(definition):
                raise InterlockError(errors.SECRET_IN_PLAIN(places=", ".join(secrets)))
            checked(self.config.settings, server, definition)
            kept = KeptServer(enabled=definition.get("enabled") is not False, definition=definition)
            told = self._told(server, {"change": "added", "definition": redact(definition)}, by)
            if not await self._store.add_server(server, kept, told):
                await self._read_anew()
                raise Conflict(errors.SERVER_EXISTS(id=server, where=self._where(server)))
            await self._kept_now(server, kept)

    async def remove(self, server: str, by: str) -> None:
        async with self._changing:
            if server in self._file.settings.servers:
                raise Conflict(errors.SERVER_IN_FILE(id=server))
            self._known(server)
            await self._keep(server, None, {"change": "removed"}, by)

    async def switch(self, server: str, enabled: bool, by: str) -> None:
        async with self._changing:
            self._known(server)
            if server in self._unfit:
                raise Conflict(errors.SERVER_UNFIT(id=server, problem=self._unfit[server]))
            if self.config.settings.servers[server].enabled is enabled:
                return
            kept = replace(self._kept_of(server), enabled=enabled)
            await self._keep(server, kept, {"change": "enabled" if enabled else "disabled"}, by)

    async def restart(self, server: str, by: str) -> None:
        async with self._changing:
            self._known(server)
            if server in self._unfit or not self.config.settings.servers[server].enabled:
                raise Conflict(errors.SERVER_OFF(id=server))
            await self._store.write([self._told(server, {"change": "restarted"}, by)])
            await self.on_change(self.config, (server,))

    def _known(self, server: str) -> None:
        known = [*self.config.settings.servers, *self._unfit]
        if server not in known:
            raise InterlockError(errors.NOT_FOUND(what=f"Server '{server[:100]}'", suggestion=nearest(server, known)))

    def _where(self, server: str) -> str:
        return "in the configuration file" if server in self._file.settings.servers else "among those that were added"

    def _kept_of(self, server: str) -> KeptServer:
        """What is kept of a server now; of one in the file that is nothing but a switch."""
        if server in self._file.settings.servers:
            return KeptServer(enabled=True)
        return self._kept[server]

    async def _keep(self, server: str, kept: KeptServer | None, change: dict[str, Json], by: str) -> None:
        await self._store.put_server(server, kept, self._told(server, change, by))
        await self._kept_now(server, kept)

    async def _kept_now(self, server: str, kept: KeptServer | None) -> None:
        if kept is None:
            del self._kept[server]
        else:
            self._kept[server] = kept
        self._merge()
        await self.on_change(self.config, ())

    def _told(self, server: str, change: dict[str, Json], by: str) -> Activity:
        now = self._clock.now()
        body: dict[str, Json] = {**change, "by": by}
        return Activity(new_id(now), now, ActivityType.SERVER_CHANGE, CallState.SUCCESS, body, server=server, caller=by)

    # Together ---------------------------------------------------------------------------------------------------

    def _merge(self) -> None:
        settings, self._unfit = self._file.settings, {}
        for name, kept in self._kept.items():
            try:
                settings = _merged(settings, self._file.settings, name, kept)
            except InterlockError as unfit:
                self._unfit[name] = unfit.reason.text
        self.config = replace(self._file, settings=settings, origins={**self._file.origins, **self._origins()})

    def _origins(self) -> dict[Path, str]:
        """Where the values come from that stand in no file."""
        of_file = self._file.settings.servers
        switched = (name for name, kept in self._kept.items() if name in of_file and kept.definition is None)
        origins: dict[Path, str] = {("servers", name, "enabled"): SWITCHED for name in switched}
        for name, kept in self._kept.items():
            if name not in of_file and kept.definition is not None:
                origins |= dict.fromkeys(stated(("servers", name), kept.definition), ADDED)
        return origins


def _merged(settings: Settings, file: Settings, name: str, kept: KeptServer) -> Settings:
    if name in file.servers:
        if kept.definition is not None:
            return settings  # it was added before it stood in the file, and the file wins
        return _with(settings, name, file.servers[name].model_copy(update={"enabled": kept.enabled}))
    if kept.definition is None:
        return settings  # a switch of a server that stands in the file no more
    server = checked(settings, name, kept.definition)
    return _with(settings, name, server.model_copy(update={"enabled": kept.enabled}))


def _with(settings: Settings, name: str, server: Server) -> Settings:
    return settings.model_copy(update={"servers": {**settings.servers, name: server}})


def checked(settings: Settings, name: str, definition: Mapping[str, Json]) -> Server:
    """The server that a definition means. Raises InterlockError with everything that is wrong with it."""
    problems = [] if ID.fullmatch(name) else ["id: must be lower-case letters, digits and '-'"]
    try:
        server = Server.model_validate(definition)
    except ValidationError as invalid:
        problems += [_problem(each["loc"], each["type"], each["msg"]) for each in invalid.errors(include_input=False)]
        raise InterlockError(errors.BAD_FIELDS(problems="; ".join(problems))) from None
    if not problems:
        problems = [text for _, text in check(_with(settings, name, server))]
    if problems:
        raise InterlockError(errors.BAD_FIELDS(problems="; ".join(problems)))
    return server


def _problem(place: tuple[int | str, ...], kind: str, message: str) -> str:
    name = ".".join(str(each)[:60] for each in place)
    if kind == "extra_forbidden":
        return f"{name}: is no setting of a server{did_you_mean(str(place[-1]), list(Server.model_fields))}"
    return f"{name}: {message.removeprefix('Value error, ')}"
