"""All upstreams together: started in parallel, stopped together, none able to disturb another.

The fleet keeps the book of all tools up to date and carries calls to the upstream they are for. It decides nothing.
"""

import asyncio
from collections.abc import Iterable
from types import TracebackType

from interlock.core.lexicon import DEFAULT, Lexicon
from interlock.core.safety import SafetyClass
from interlock.core.toolbook import Listing, ToolBook
from interlock.forward.link import Answer, LinkDown, Listener
from interlock.forward.link_http import HttpLink
from interlock.forward.link_stdio import StdioLink
from interlock.forward.reaper import Reaper
from interlock.forward.upstream import Health, Upstream, UpstreamSpec


class Fleet:
    """The upstreams by id. Used as a context: everything that was started is closed on the way out."""

    def __init__(
        self,
        specs: Iterable[UpstreamSpec],
        *,
        lexicon: Lexicon = DEFAULT,
        overrides: dict[str, dict[str, SafetyClass]] | None = None,
    ) -> None:
        self.book = ToolBook()
        self._lexicon = lexicon
        self._overrides = overrides or {}
        self._reaper = Reaper()
        self._work = asyncio.TaskGroup()
        self.upstreams = {spec.id: self._upstream(spec) for spec in specs}

    def _upstream(self, spec: UpstreamSpec) -> Upstream:
        def open_link(listener: Listener) -> HttpLink | StdioLink:
            if spec.url is not None:
                return HttpLink(spec.url, spec.headers, on_notification=listener)
            return StdioLink(spec.argv, spec.env, spec.cwd, on_notification=listener, reaper=self._reaper)

        upstream = Upstream(spec, open_link)
        upstream.on_tools_changed(lambda: self._refresh_soon(spec.id))
        return upstream

    async def __aenter__(self) -> "Fleet":
        await self._reaper.start()
        await self._work.__aenter__()
        async with asyncio.TaskGroup() as starting:
            for upstream in self.upstreams.values():
                starting.create_task(self._start(upstream))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with asyncio.TaskGroup() as closing:
            for upstream in self.upstreams.values():
                closing.create_task(upstream.close())
        await self._work.__aexit__(kind, error, trace)
        await self._reaper.close()

    async def _start(self, upstream: Upstream) -> None:
        await upstream.start()
        self._list(upstream)

    def _refresh_soon(self, server: str) -> None:
        self._work.create_task(self._refresh(self.upstreams[server]))

    async def _refresh(self, upstream: Upstream) -> None:
        if upstream.health is Health.READY:
            await upstream.refresh()
            self._list(upstream)

    def _list(self, upstream: Upstream) -> None:
        spec = upstream.spec
        listing = Listing(spec.id, spec.namespace, upstream.tools, spec.trusted, self._overrides.get(spec.id, {}))
        self.book = self.book.with_listing(listing, self._lexicon)

    def seconds(self, server: str) -> float:
        """How long a call to this upstream may take."""
        return self.upstreams[server].spec.call_seconds

    async def call(self, server: str, tool: str, arguments: bytes, listener: Listener | None = None) -> Answer:
        """Carry one call to its upstream."""
        upstream = self.upstreams.get(server)
        if upstream is None:
            raise LinkDown("there is no such server", sent=False)
        return await upstream.call(tool, arguments, listener)
