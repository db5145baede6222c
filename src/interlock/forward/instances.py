"""All instances of one server: the one that everybody shares, and those for one caller or one credential.

The main instance is always there and lists the tools. The others are started when they are first needed, closed when
they were not needed for a while, and limited in number: callers come and go, and each of these may be a process. A
credential that is not configured is refused; it never falls back to another one.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from interlock.clock import Clock
from interlock.core.health import Health, LeftOut, UpstreamState
from interlock.core.model import Standing
from interlock.core.offers import SUBSCRIBE, Offer
from interlock.core.toolbook import ToolBook
from interlock.forward.link import Answer, LinkDown, Listener, Stopped
from interlock.forward.pace import Pace
from interlock.forward.supervise import OnTools, Supervisor
from interlock.forward.upstream import Ask, Connect, UpstreamSpec

_Key: TypeAlias = tuple[str | None, str | None]
"""The auth scope and the caller that an instance is for."""


@dataclass(frozen=True, slots=True)
class Means:
    """What every instance needs: ways to upstreams, patience, time, and a group for its owner task."""

    connect: Connect
    pace: Pace
    clock: Clock
    work: asyncio.TaskGroup


class Instances:
    """The instances of one server. `listing` is its part of the book, `offer` what it has beside tools; None before it
    was listed."""

    def __init__(self, spec: UpstreamSpec, means: Means, *, on_tools: OnTools, on_health: Callable[[], None]) -> None:
        self.spec = spec
        self.listing: ToolBook | None = None
        self.left_out: tuple[LeftOut, ...] = ()
        """The tools that are in its list and not in the book."""
        self.offer: Offer | None = None
        self._means = means
        self._own: dict[_Key, Supervisor] = {}
        self._owners: dict[Supervisor, asyncio.Task[None]] = {}
        self._places = _places(spec)
        self.main = Supervisor(spec, means.connect, means.pace, means.clock, on_tools=on_tools, on_health=on_health)

    @property
    def state(self) -> UpstreamState:
        """How the main instance is doing, for people and probes."""
        spec, main = self.spec, self.main
        return UpstreamState(
            id=spec.id,
            namespace=spec.namespace,
            transport=spec.transport,
            health=main.health,
            problem=main.problem,
            tools=0 if self.listing is None else len(self.listing.by_server[spec.id]),
            protocol_version=main.protocol_version,
            trusted=spec.trusted,
            since=main.since,
            restarts=max(0, main.starts - 1),
            left_out=self.left_out,
            stray_lines=main.stray,
            introduction=main.introduction,
            poisoned=sum(each.tool.standing is Standing.POISONED for each in self.listing or ()),
        )

    def __iter__(self) -> Iterator[Supervisor]:
        yield self.main
        yield from self._own.values()

    def start(self) -> None:
        """Start the main instance."""
        self._run(self.main)

    async def call(self, ask: Ask, listener: Listener | None, auth_scope: str | None, caller: str | None) -> Answer:
        """Carry a call to the instance that it is for, when it is its turn, within the time that calls have."""
        deadline = asyncio.get_running_loop().time() + self.spec.call_seconds
        if ask.method == SUBSCRIBE:
            return await self._watch(ask, deadline, auth_scope)
        instance = self._instance(auth_scope, caller)
        instance.begin_use()
        try:
            if instance.health is not Health.READY:
                await instance.usable(deadline)
            if self._places is None:
                _see_whether_stopped(ask)
                return await instance.call(ask, deadline, listener)
            async with self._place(self._places, deadline):
                _see_whether_stopped(ask)
                return await instance.call(ask, deadline, listener)
        finally:
            instance.end_use()

    async def _watch(self, ask: Ask, deadline: float, auth_scope: str | None) -> Answer:
        """Watch a resource. Only the main instance hears what a server says of its own accord.

        It watches for callers with a session of their own too: they have the credentials that it has, and all that they
        are told is to look again at what they named. With other credentials there may be other resources.
        """
        if auth_scope is not None:
            raise LinkDown("resources are watched only with the server's own credentials", sent=False)
        self.main.begin_use()
        try:
            await self.main.usable(deadline)
            return await self.main.watch(ask.name or "", deadline)
        finally:
            self.main.end_use()

    @contextlib.asynccontextmanager
    async def _place(self, places: asyncio.Semaphore, deadline: float) -> AsyncGenerator[None]:
        """One of the places for calls at the same time; whoever came first goes first."""
        try:
            async with asyncio.timeout_at(deadline):
                await places.acquire()
        except TimeoutError:
            why = f"it takes {self.spec.max_concurrent} calls at a time, and none of them ended in time"
            raise LinkDown(why, sent=False) from None
        try:
            yield
        finally:
            places.release()

    # The instances beside the main one --------------------------------------------------------------------------

    def _instance(self, auth_scope: str | None, caller: str | None) -> Supervisor:
        key = (auth_scope, caller if self.spec.per_caller else None)
        if key == (None, None):
            return self.main
        if key in self._own and self._own[key].in_doubt and self._own[key].in_flight == 0:
            self._retire_own(key)  # it may ask about a call that was given up, and nobody could tell
        if key not in self._own:
            spec = self._spec_under(auth_scope)
            self._make_room()
            means = self._means
            self._own[key] = Supervisor(spec, means.connect, means.pace, means.clock)
            self._run(self._own[key])
        return self._own[key]

    def _spec_under(self, auth_scope: str | None) -> UpstreamSpec:
        if auth_scope is None:
            return self.spec
        if auth_scope not in self.spec.scopes:
            raise LinkDown(f"the auth scope '{auth_scope}' is not configured", sent=False)
        return self.spec.under(self.spec.scopes[auth_scope])

    def _make_room(self) -> None:
        most = self._means.pace.most
        if len(self._own) < most:
            return
        idle = [key for key, each in self._own.items() if each.in_flight == 0]
        if not idle:
            raise LinkDown(f"all of its {most} sessions are in use; try again when one is free", sent=False)
        self._retire_own(min(idle, key=lambda key: self._own[key].used_at))

    def sweep(self) -> None:
        """Close what was not needed for a while."""
        latest = self._means.clock.ticks() - self._means.pace.idle * 1_000_000
        for key in [key for key, each in self._own.items() if each.in_flight == 0 and each.used_at <= latest]:
            self._retire_own(key)

    def _retire_own(self, key: _Key) -> None:
        self._means.work.create_task(self._retire(self._own.pop(key)))

    # Change and end ---------------------------------------------------------------------------------------------

    def respec(self, spec: UpstreamSpec) -> None:
        """Take up a spec that the main instance is reached by as before. Changed credentials are not used again."""
        before, self.spec = self.spec, spec
        if before.max_concurrent != spec.max_concurrent:
            self._places = _places(spec)
        for key in list(self._own):
            if key[0] is not None and before.scopes[key[0]] != spec.scopes.get(key[0]):
                self._retire_own(key)

    async def retire(self) -> None:
        """Let the calls under way end, then close all instances. Nobody must bring new calls any more."""
        async with asyncio.TaskGroup() as leaving:
            for each in self:
                leaving.create_task(self._retire(each))

    def stop(self) -> None:
        """Close all instances now."""
        for owner in self._owners.values():
            owner.cancel()

    def _run(self, supervisor: Supervisor) -> None:
        owner = self._means.work.create_task(supervisor.run())
        self._owners[supervisor] = owner
        owner.add_done_callback(lambda _: self._owners.pop(supervisor, None))

    async def _retire(self, supervisor: Supervisor) -> None:
        # The time of a call stands still while somebody is asked, and whoever removes a server does not wait for that.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.spec.call_seconds):
                await supervisor.unused()
        owner = self._owners.get(supervisor)
        if owner is not None:
            owner.cancel()
            await asyncio.wait({owner})


def _see_whether_stopped(ask: Ask) -> None:
    what = None if ask.stopped is None else ask.stopped()
    if what is not None:
        raise Stopped(what)


def _places(spec: UpstreamSpec) -> asyncio.Semaphore | None:
    return None if spec.max_concurrent is None else asyncio.Semaphore(spec.max_concurrent)
