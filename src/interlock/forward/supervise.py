"""The owner of one upstream: starts it, notices when it is in trouble, and starts it again.

    starting ─┬─ ready ──── the link died, or it gives no sign of life ──┐
              └─ down  ◄─────────────────────────────────────────────────┘
                  │ wait, longer each time; a call cuts it short
                  └─ starting

One task per upstream runs through this for as long as the upstream is wanted, and nothing else touches the link's
life. So an upstream that is dead, slow or mad costs its owner time, and nobody else. Calls pass by: they are refused
while it is down, and what becomes of them is what puts an upstream in doubt. An error that a tool or the protocol
reports is an answer like any other and proves that the upstream lives.

INVARIANT: a call that is refused here was not sent.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from interlock.clock import Clock
from interlock.core.health import Health, Introduction
from interlock.core.offers import Abilities, Kind
from interlock.core.redact import redact_text
from interlock.forward.exchange import Refused
from interlock.forward.hearing import Hearing
from interlock.forward.link import Answer, BadMessage, LinkDown, LinkTimeout, Listener, Notification, TooLong
from interlock.forward.listed import Listed
from interlock.forward.pace import Backoff, Pace
from interlock.forward.upstream import Ask, Connect, Upstream, UpstreamSpec

FAILURES = (LinkDown, LinkTimeout, BadMessage)
"""What can go wrong between us and an upstream."""

LOCKED_OUT = (401, 403)
"""The HTTP status of a server that does not accept our credential."""
MAX_PROBLEM = 500
_SHORTEST_SECRET = 6

OnTools: TypeAlias = Callable[[Listed], Awaitable[None]]
Rest: TypeAlias = Mapping[Kind, Sequence[bytes]]
"""The JSON texts of what else an upstream lists."""
OnRest: TypeAlias = Callable[[Abilities, Rest], Awaitable[None]]
_LIST_CHANGED = frozenset(f"notifications/{each}/list_changed" for each in ("tools", "resources", "prompts"))


class Supervisor:
    """One instance of an upstream. `run` is its owner task; cancelling that task closes the upstream.

    What it has is listed only if somebody wants it: `on_tools` gets the list of its tools whenever it differs
    from the one before, and so does `on_rest` with everything else. `on_health` is told of every change.
    """

    def __init__(
        self,
        spec: UpstreamSpec,
        connect: Connect,
        pace: Pace,
        clock: Clock,
        *,
        on_tools: OnTools | None = None,
        on_health: Callable[[], None] = lambda: None,
    ) -> None:
        self.on_rest: OnRest | None = None
        self.health = Health.STOPPED
        self.problem = ""
        self.since = clock.now()
        self.starts = 0
        self.settled = asyncio.Event()
        """Set once the first start has succeeded or failed."""
        self.used_at = clock.ticks()
        """When the last call began or ended."""
        self.in_flight = 0
        self._upstream = Upstream(spec, connect, pace, on_lost=self._lost, on_told=self._told)
        self.hearing = Hearing(self._upstream, pace, on_missed=lambda: self._stale.set())
        self._cap = pace.cap_stdio if spec.url is None else pace.cap_http
        self._pace, self._clock = pace, clock
        self._on_tools, self._on_health = on_tools, on_health
        self._backoff = Backoff(pace.first)
        self._began = self._ready_at = 0.0
        self._failed_starts = self._failed_calls = 0
        self._ended = False
        self._tripped = False
        """Too many calls failed in a row: none is let through before there was a sign of life."""
        self._trouble = asyncio.Event()
        self._woken = asyncio.Event()
        self._stale = asyncio.Event()
        self._news = asyncio.Event()
        """Set at the next change of health, and replaced by a new one."""
        self._unused = asyncio.Event()
        self._unused.set()
        self._listed = self._rest_listed = b""

    @property
    def protocol_version(self) -> str:
        return self._upstream.protocol_version

    @property
    def stray(self) -> int:
        return self._upstream.stray

    @property
    def introduction(self) -> Introduction:
        return self._upstream.introduction

    @property
    def in_doubt(self) -> bool:
        """Whether what it asks could be about a call that was given up."""
        return self._upstream.in_doubt

    def logs(self) -> Sequence[str]:
        """The last lines that the upstream wrote to its stderr."""
        return self._upstream.logs()

    # Calls ------------------------------------------------------------------------------------------------------

    def begin_use(self) -> None:
        """A call waits or runs: until it has ended, the upstream is not closed for want of use."""
        if not self.in_flight:
            self._unused.clear()
        self.in_flight += 1

    def end_use(self) -> None:
        """A call has ended."""
        self.in_flight -= 1
        self.used_at = self._clock.ticks()
        if self.in_flight == 0:
            self._unused.set()

    async def unused(self) -> None:
        """Wait until no call is under way. Each of them ends at its deadline at the latest, which stands still only
        while a person is asked, and that has an end of its own."""
        await self._unused.wait()

    async def usable(self, deadline: float) -> None:
        """Return when calls can be made. One that is down is woken and waited for, a moment only; raises LinkDown."""
        if self._is(Health.READY):
            return
        if self._is(Health.DOWN) and not self._tripped:
            self._woken.set()
        before, now = self._failed_starts, asyncio.get_running_loop().time()
        # Whoever needs an instance first has to wait until it is started, however long that takes.
        until = min(deadline, now + self._pace.patience) if self.settled.is_set() else deadline
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                while not (self._is(Health.READY) or self._tripped or self._ended) and self._failed_starts == before:
                    await self._news.wait()
        if not self._is(Health.READY):
            raise self._refusal()

    def _is(self, health: Health) -> bool:
        return self.health is health

    async def call(self, ask: Ask, deadline: float, listener: Listener | None = None) -> Answer:
        """Ask for something; raises LinkDown, LinkTimeout or BadMessage."""
        seconds = deadline - asyncio.get_running_loop().time()
        if self.health is not Health.READY or seconds <= 0:
            raise self._refusal()
        try:
            answer = await self._upstream.call(ask, seconds, listener)
        except TooLong:
            self._failed_calls = 0  # it is alive and answers; others may well want less of it
            raise
        except FAILURES as failed:
            self._count(failed)
            raise
        self._failed_calls = 0
        return answer

    async def watch(self, uri: str, deadline: float) -> Answer:
        """Watch a resource for one more client; raises LinkDown, LinkTimeout or BadMessage."""
        seconds = deadline - asyncio.get_running_loop().time()
        if self.health is not Health.READY or seconds <= 0:
            raise self._refusal()
        return await self.hearing.watch(uri, seconds)

    def _count(self, failed: Exception) -> None:
        self._failed_calls += 1
        if self.health is Health.READY and self._failed_calls >= self._pace.failures:
            self._tripped = True
            self._set(Health.DOWN, f"{self._failed_calls} calls in a row failed, the last one because: {failed}")
            self._trouble.set()

    def _refusal(self) -> LinkDown:
        match self.health:
            case Health.DOWN:
                return LinkDown(self.problem, sent=False)
            case Health.STARTING:
                before = f"; before that: {self.problem}" if self.problem else ""
                return LinkDown(f"it is still starting{before}", sent=False)
            case Health.READY:
                return LinkDown("the time for this call was over before it could be sent", sent=False)
            case Health.STOPPED:
                return LinkDown("it was stopped", sent=False)

    # The owner task ---------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep the upstream going until this task is cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                if self._on_tools is not None:
                    group.create_task(self._keep_list())
                await self._keep(group)
        finally:
            self._ended = True
            if not self._is(Health.READY):
                self._upstream.drop()  # whoever was not even there yet gets no time to leave
            self._set(Health.STOPPED, "")
            try:
                await self._upstream.close()
            except Exception as defect:  # ours: what is left of this upstream is the reaper's, and the others go on
                _report("an upstream could not be closed", defect)

    async def _keep(self, group: asyncio.TaskGroup) -> None:
        while True:
            cap = self._cap
            try:
                await self._start()
                await self._watch_and_hear(group)
            except FAILURES as failed:
                self._fail(failed)
                if isinstance(failed, Refused) and failed.status in LOCKED_OUT:
                    cap = self._pace.cap_stdio  # it is there; to try the same key over and over would lock us out
            except Exception as defect:  # ours: it costs this upstream a start, and the others nothing
                _report("an upstream could not be supervised", defect)
                self._fail(defect)
            await self._rest(cap)

    async def _start(self) -> None:
        self._woken.clear()
        self._began = asyncio.get_running_loop().time()
        self.starts += 1
        self._set(Health.STARTING, self.problem)
        with contextlib.ExitStack() as unless_ready:
            unless_ready.callback(self._count_start)
            await self._upstream.start()
            await self._list()
            await self._list_rest(self._pace.rest)
            self.hearing.begin()
            self._set_ready()
            unless_ready.pop_all()

    def _count_start(self) -> None:
        """A start failed: whoever waits for it need not wait for the next."""
        self._failed_starts += 1

    def _set_ready(self) -> None:
        if self._upstream.lost:
            raise LinkDown(self._upstream.lost, sent=False)
        self._trouble.clear()
        self._failed_calls, self._tripped = 0, False
        self._ready_at = asyncio.get_running_loop().time()
        self._set(Health.READY, "")
        self.settled.set()

    async def _watch_and_hear(self, group: asyncio.TaskGroup) -> None:
        hearing = group.create_task(self.hearing.run()) if self._on_tools is not None else None
        try:
            await self._watch()
        finally:
            if hearing is not None:
                hearing.cancel()

    async def _watch(self) -> None:
        """Wait until it has to be started anew, which is raised as the reason."""
        while True:
            await self._trouble.wait()
            self._trouble.clear()
            if self._tripped:
                await self._rest(self._pace.cap_http)
            if self._upstream.lost:
                raise LinkDown(self._upstream.lost, sent=False)
            await self._upstream.probe()
            if self.health is not Health.READY:
                self._set_ready()

    def _fail(self, why: Exception) -> None:
        """It is down, whatever it was before; the next thing is a new start."""
        self._tripped = False
        self._upstream.drop()
        self._set(Health.DOWN, str(why) or type(why).__name__)
        self.settled.set()

    def _lost(self, why: str) -> None:
        """The link is gone: known at once, not only when the owner comes to it."""
        if self.health is Health.READY:
            self._set(Health.DOWN, why)
        self._trouble.set()

    async def _rest(self, cap: float) -> None:
        """Wait for the next attempt. A call cuts it short, but not to more than so many starts in a while."""
        loop = asyncio.get_running_loop()
        if self._ready_at and loop.time() - self._ready_at >= self._pace.steady:
            self._backoff.reset()
        self._ready_at = 0.0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._backoff.next(cap)):
                await self._woken.wait()
                await asyncio.sleep(self._began + self._pace.starts_apart - loop.time())

    def _set(self, health: Health, problem: str) -> None:
        shown = _shown(problem, self._upstream.spec)
        if (health, shown) == (self.health, self.problem):
            return
        if health is not self.health:
            self.since = self._clock.now()
        self.health, self.problem = health, shown
        self._news.set()
        self._news = asyncio.Event()
        self._on_health()

    # The lists --------------------------------------------------------------------------------------------------

    def _told(self, notification: Notification) -> None:
        """Take in what the upstream says of its own accord."""
        if notification.method in _LIST_CHANGED:
            self._stale.set()
        else:
            self.hearing.told(notification)

    async def _list(self) -> float:
        """Ask for the tools and hand them on if they changed; how many seconds it took to look at them."""
        if self._on_tools is None:
            return 0.0
        listed = await self._upstream.list_tools()
        began = asyncio.get_running_loop().time()
        digest = await asyncio.to_thread(_digest, (*listed.entries, str(listed.more).encode()))
        if digest != self._listed:
            await self._on_tools(listed)
            self._listed = digest
        return asyncio.get_running_loop().time() - began

    async def _list_rest(self, seconds: float) -> None:
        """Ask for everything else, and hand it on if it changed. Tools are served without it if it takes too long."""
        if self.on_rest is None:
            return
        try:
            rest = await self._upstream.list_rest(seconds)
        except LinkTimeout:
            self._stale.set()  # asked for again, with more patience, while the tools are served
            return
        except BadMessage:
            return  # the lists from before stay; its tools are none the worse
        digest = await asyncio.to_thread(_digest_of_rest, self._upstream.can, rest)
        if digest != self._rest_listed:
            await self.on_rest(self._upstream.can, rest)
            self._rest_listed = digest

    async def _keep_list(self) -> None:
        """Ask for the lists again when they are said to have changed, and now and then without that."""
        pace = self._pace
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pace.refresh_every):
                    await self._stale.wait()
            while self.health is not Health.READY:
                await self._news.wait()
            self._stale.clear()
            await asyncio.sleep(max(pace.refresh_apart, pace.refresh_rest * await self._refresh()))

    async def _refresh(self) -> float:
        took = 0.0
        try:
            took = await self._list()
            await self._list_rest(self._pace.listing)
        except FAILURES:
            self._trouble.set()  # the old list stays; whether the upstream lives is for its owner to find out
        except Exception as defect:  # ours: the old list stays, and the upstream goes on
            _report("a list could not be taken over", defect)
        return took


def _shown(problem: str, spec: UpstreamSpec) -> str:
    """A problem in one line that holds no secret, not even if the upstream repeats what it was given."""
    line = " ".join(problem[: 4 * MAX_PROBLEM].split())
    for value in (spec.url or "", *spec.env.values(), *spec.headers.values()):
        for secret in (value, value.rpartition(" ")[2]):
            if len(secret) >= _SHORTEST_SECRET:
                line = line.replace(secret, "[redacted]")
    return redact_text(line)[:MAX_PROBLEM]


def _digest(texts: Sequence[bytes]) -> bytes:
    return hashlib.sha256(b"\n".join(texts)).digest()


def _digest_of_rest(can: Abilities, rest: Rest) -> bytes:
    digests = [kind.encode() + _digest(texts) for kind, texts in rest.items()]
    return _digest([repr(can).encode(), *digests])


def _report(what: str, defect: Exception) -> None:
    asyncio.get_running_loop().call_exception_handler({"message": what, "exception": defect})
