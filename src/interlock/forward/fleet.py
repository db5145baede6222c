"""All upstreams together: started in parallel, changed while they run, stopped together.

The fleet keeps the book of all tools up to date and carries calls to the upstream they are for. It decides nothing. No
upstream is waited for unless somebody asks to (`settled`), and none is able to disturb another: each has an owner task
of its own, and the tools that it lists are read in a thread, because reading thousands of them takes seconds.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TypeVar

from interlock.clock import Clock, SystemClock
from interlock.core.health import UpstreamState
from interlock.core.lexicon import DEFAULT, Lexicon
from interlock.core.offers import Abilities, Offer, OfferChange, Offers, changes_between
from interlock.core.safety import SafetyClass
from interlock.core.toolbook import Listing, ToolBook
from interlock.forward.instances import Instances, Means
from interlock.forward.link import Answer, Link, LinkDown, Listener, OnDown
from interlock.forward.link_http import HttpLink
from interlock.forward.link_stdio import StdioLink
from interlock.forward.listed import Listed, ReadTools, read_entries, read_tools
from interlock.forward.pace import Pace
from interlock.forward.reading import without_orders
from interlock.forward.reaper import Reaper
from interlock.forward.supervise import Rest, Supervisor
from interlock.forward.upstream import CALL_SECONDS, Ask, UpstreamSpec

_Told = TypeVar("_Told")
Judge = Callable[[Listing], Awaitable[Listing]]
"""Says how the tools of a listing stand, and which classes were set."""
Overrides = Mapping[str, Mapping[str, SafetyClass]]
"""The operator's word on tools, by server and tool."""


class Fleet:
    """The upstreams by id. Used as a context: everything that was started is closed on the way out.

    `on_change` is told the id of a server whose part of the book changed, `on_offer` what else of a server did, and
    `on_health` how an upstream is doing now, each time that changes; `on_updated` the server and the URI of a resource
    that somebody watches and that changed.
    """

    def __init__(
        self,
        specs: Iterable[UpstreamSpec],
        *,
        lexicon: Lexicon = DEFAULT,
        overrides: Overrides | None = None,
        judge: Judge | None = None,
        pace: Pace | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.book = ToolBook()
        self.offers = Offers()
        self.on_updated: Callable[[str, str], None] = lambda server, uri: None
        self.on_offer: Callable[[OfferChange], None] = lambda change: None
        self.on_change: Callable[[str], None] = lambda server: None
        self.on_health: Callable[[UpstreamState], None] = lambda state: None
        self._lexicon = lexicon
        self._overrides = overrides or {}
        self._judge = judge or _as_listed
        self._pace = pace or Pace()
        self._reaper = Reaper()
        self._work = asyncio.TaskGroup()
        self._means = Means(self._connect, self._pace, clock or SystemClock(), self._work)
        self._reading = asyncio.Lock()
        self._applying = asyncio.Lock()
        self._sweeper: asyncio.Task[None] | None = None
        self._servers = {spec.id: self._instances(spec) for spec in specs}
        self._running: set[Instances] = set()
        """Those that were started and have not ended, whether they still take calls or not."""
        self._open = False

    # Start and end ----------------------------------------------------------------------------------------------

    async def __aenter__(self) -> "Fleet":
        await self._reaper.start()
        await self._work.__aenter__()
        self._compose()
        self._sweeper = self._work.create_task(self._sweep())
        self._open = True
        self._start(self._servers.values())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        if self._sweeper is not None:
            self._sweeper.cancel()
        for instances in self._running:
            instances.stop()
        try:
            # What went wrong outside is not for the group: it would wrap it up.
            await self._work.__aexit__(None, None, None)
        finally:
            await self._reaper.close()

    async def settled(self, seconds: float) -> None:
        """Wait until each upstream has become ready or failed once, at most so long."""
        await _settled(self._servers.values(), seconds)

    def _start(self, all_instances: Iterable[Instances]) -> None:
        for instances in all_instances:
            self._running.add(instances)
            instances.start()

    def _connect(self, spec: UpstreamSpec, listener: Listener, on_down: OnDown) -> Link:
        if spec.unusable:
            raise ValueError(spec.unusable)
        if spec.url is not None:
            return HttpLink(spec.url, spec.headers, on_notification=listener, on_down=on_down)
        return StdioLink(spec.argv, spec.env, spec.cwd, on_notification=listener, on_down=on_down, reaper=self._reaper)

    def _instances(self, spec: UpstreamSpec) -> Instances:
        async def take(listed: Listed) -> None:
            await self._read(instances, partial(read_tools, listed))

        def tell() -> None:
            if self._servers.get(spec.id) is instances:
                _tell(self.on_health, instances.state)

        async def take_rest(can: Abilities, rest: Rest) -> None:
            instances.offer = await asyncio.to_thread(_offer_of, spec.id, can, rest)
            if self._servers.get(spec.id) is instances:
                self._compose()

        instances = Instances(spec, self._means, on_tools=take, on_health=tell)
        instances.main.on_rest = take_rest
        instances.main.hearing.on_updated = lambda uri: self.on_updated(spec.id, uri)
        return instances

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self._pace.sweep)
            for instances in self._servers.values():
                instances.sweep()

    # What people and other parts ask ----------------------------------------------------------------------------

    @property
    def upstreams(self) -> Mapping[str, Supervisor]:
        """The main instance of each server."""
        return {server: instances.main for server, instances in self._servers.items()}

    def states(self) -> Sequence[UpstreamState]:
        return [instances.state for instances in self._servers.values()]

    def logs(self, server: str) -> Sequence[str] | None:
        instances = self._servers.get(server)
        return None if instances is None else instances.main.logs()

    def seconds(self, server: str) -> float:
        """How long a call to this upstream may take."""
        known = {each.spec.id: each.spec for each in (*self._running, *self._servers.values())}
        return known[server].call_seconds if server in known else CALL_SECONDS

    def call(
        self,
        server: str,
        ask: Ask,
        listener: Listener | None = None,
        *,
        auth_scope: str | None = None,
        caller: str | None = None,
    ) -> Awaitable[Answer]:
        """Carry one call to its upstream; raises LinkDown, LinkTimeout or BadMessage."""
        instances = self._servers.get(server)
        if instances is None:
            raise LinkDown("there is no such server", sent=False)
        if not self._open:
            raise LinkDown("the gateway is about to stop", sent=False)
        return instances.call(ask, listener, auth_scope, caller)

    async def awake(self, server: str) -> None:
        """Return when an upstream could be called now; one that is down is woken. Raises LinkDown."""
        instances = self._servers.get(server)
        if instances is None:
            raise LinkDown("there is no such server", sent=False)
        await instances.main.usable(asyncio.get_running_loop().time() + instances.spec.call_seconds)

    def may_ask(self, server: str) -> bool:
        """Whether this upstream may ask its callers something."""
        instances = self._servers.get(server)
        return instances is not None and instances.spec.per_caller

    def release(self, server: str, uri: str) -> None:
        """One client less watches a resource."""
        if server in self._servers:
            self._servers[server].main.hearing.release(uri)

    # Another configuration --------------------------------------------------------------------------------------

    async def apply(
        self,
        specs: Iterable[UpstreamSpec],
        overrides: Overrides,
        lexicon: Lexicon,
        anew: Collection[str] = (),
    ) -> None:
        """Take up another configuration while calls go on.

        A server that is reached as before keeps running, unless it is to be started `anew`. A changed one serves until
        the new instance has started or failed once; then the new one takes over. What is replaced or removed takes no
        new call, lets those under way end, and closes.
        """
        async with self._applying:
            self._overrides, self._lexicon = overrides, lexicon
            wanted = {spec.id: spec for spec in specs}
            kept = {
                server: instances
                for server, instances in self._servers.items()
                if server in wanted and server not in anew and instances.spec.reached_like(wanted[server])
            }
            fresh = {server: self._instances(spec) for server, spec in wanted.items() if server not in kept}
            for server, instances in kept.items():
                instances.respec(wanted[server])
            self._replace({server: self._servers[server] for server in wanted if server in self._servers})
            self._start(fresh.values())
            try:
                await _settled(fresh.values(), self._pace.takeover)
            finally:  # whoever gives up waiting has the new configuration all the same, not half of it
                self._take_over(fresh, wanted)
            for instances in self._servers.values():
                await self._read_again(instances)

    def _take_over(self, fresh: Mapping[str, Instances], wanted: Iterable[str]) -> None:
        before = self._servers
        for server, instances in fresh.items():
            if instances.listing is None and server in before:
                instances.listing, instances.left_out = before[server].listing, before[server].left_out
            if instances.offer is None and server in before:
                instances.offer = before[server].offer
            if server in before:
                instances.main.hearing.take_over(before[server].main.hearing)
        now = {**before, **fresh}
        self._replace({server: now[server] for server in wanted})
        for instances in fresh.values():
            _tell(self.on_health, instances.state)

    def _replace(self, servers: dict[str, Instances]) -> None:
        """From now on these are the servers; the others may finish what they do."""
        leaving = set(self._servers.values()) - set(servers.values())
        self._servers = servers
        self._compose()
        for instances in leaving:
            self._work.create_task(self._see_off(instances))

    async def _see_off(self, instances: Instances) -> None:
        try:
            await instances.retire()
        finally:
            self._running.discard(instances)

    # The book ---------------------------------------------------------------------------------------------------

    async def _read(self, instances: Instances, tools: Callable[[], ReadTools]) -> None:
        """Read the tools of a server and put them into the book. One server at a time: it is a matter of computing."""
        async with self._reading:
            spec = instances.spec
            overrides = self._overrides.get(spec.id, {})
            given = await asyncio.to_thread(tools)
            listing = await self._judge(Listing(spec.id, spec.namespace, given.tools, spec.trusted, overrides))
            instances.listing = await asyncio.to_thread(_book_of, listing, instances.listing, self._lexicon)
            before, instances.left_out = instances.left_out, given.left_out
            if self._servers.get(spec.id) is instances:
                self._compose()
                if before != given.left_out:
                    _tell(self.on_health, instances.state)

    async def judge_again(self, server: str) -> None:
        """Judge what a server listed last anew, because somebody gave their word about it."""
        if server in self._servers:
            await self._read_again(self._servers[server])

    async def _read_again(self, instances: Instances) -> None:
        """Read what a server listed last as the configuration is now."""
        if instances.listing is not None:
            await self._read(instances, partial(_listed_last, instances))

    def _compose(self) -> None:
        """Make the book of what each server listed last, in the order of the configuration."""
        before, servers = self.book, self._servers
        by_server = {
            server: each.listing.by_server[server] for server, each in servers.items() if each.listing is not None
        }
        named = {each.spec.namespace: server for server, each in servers.items()}
        self.book = ToolBook(by_server, {**named, **{server: server for server in servers}})
        for server in before.by_server.keys() | by_server.keys():
            if before.by_server.get(server) is not by_server.get(server):
                _tell(self.on_change, server)
        self._compose_offers()

    def _compose_offers(self) -> None:
        """The same for what the servers have beside tools."""
        before = self.offers
        offers = (replace(each.offer, namespace=each.spec.namespace) for each in self._servers.values() if each.offer)
        self.offers = Offers({each.server: each for each in offers})
        for change in changes_between(before, self.offers):
            _tell(self.on_offer, change)


async def _as_listed(listing: Listing) -> Listing:
    return listing


def _book_of(listing: Listing, before: ToolBook | None, lexicon: Lexicon) -> ToolBook:
    """The part of the book that is one server's; the very one from before if nothing changed."""
    now = ToolBook().with_listing(listing, lexicon)
    return before if before is not None and before == now else now


def _offer_of(server: str, can: Abilities, rest: Rest) -> Offer:
    listed = {kind: without_orders(server, kind, read_entries(kind, texts)) for kind, texts in rest.items()}
    return Offer(server, "", can, listed)


def _listed_last(instances: Instances) -> ReadTools:
    """What a server listed last."""
    book = instances.listing or ()
    tools = [descriptor for each in book for descriptor in (each.descriptor, *each.others)]
    return ReadTools(tools, instances.left_out)


async def _settled(all_instances: Iterable[Instances], seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            for instances in list(all_instances):
                await instances.main.settled.wait()


def _tell(listener: Callable[[_Told], None], told: _Told) -> None:
    try:
        listener(told)
    except Exception as failed:  # a defect of whoever listens: the fleet goes on
        context = {"message": "a listener failed", "exception": failed}
        asyncio.get_running_loop().call_exception_handler(context)
