"""An issuer whose tokens are a second way in: its keys, fetched and kept, and the tokens that were verified with them.

The face identifies every request, so a token that was verified is known by its hash until it ends or its key is no
longer published. Whoever brings a token with a known key never waits for the issuer's server: only those wait that
need keys which are not there, all for the same answer, and not for long. However many keys nobody knows are named, the
server is asked for them once in a while only.

This module refuses to follow redirects, to read a long answer and to keep a token: only its hash stays here.
"""

import asyncio
import contextlib
import logging
import ssl
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx2

from interlock import errors
from interlock.clock import Clock
from interlock.core.model import Micros
from interlock.errors import Reason
from interlock.receive.identify import Principal
from interlock.receive.jwt import Presented, Terms, identified, read, token_id

if TYPE_CHECKING:
    from interlock.receive.key_set import KeySet

KEEP: Micros = 600_000_000
"""How long keys are used before they are fetched again."""
PAUSE: Micros = 30_000_000
"""How long the server is left alone after it was asked for a key that nobody knows, or failed while there are keys."""
RETRY: Micros = 1_000_000
"""How long it is left alone after it failed while there are no keys at all."""
FETCH_SECONDS = 10.0
MAX_BODY = 1024 * 1024
MAX_VERIFIED = 4_096
MAX_WAITING = 1_000
"""How many requests may wait for keys at the same time: whoever brings them need not be anybody."""
_LOG = logging.getLogger("interlock")


@dataclass(frozen=True, slots=True)
class Standing:
    """How an issuer is doing: how many of its keys are known, and what was wrong when they were last fetched."""

    issuer: str
    audience: str
    keys: int
    problem: str | None


class KeySource:
    """The keys behind an address. Fetching happens beside the requests, in `group`."""

    def __init__(
        self, url: str, clock: Clock, group: asyncio.TaskGroup, on_change: "Callable[[KeySet, KeySet], None]"
    ) -> None:
        self.keys: KeySet | None = None
        self.problem: str | None = None
        self._url = url
        self._clock = clock
        self._group = group
        self._on_change = on_change
        self._due_at: Micros = 0
        """When the keys are to be fetched again whatever comes."""
        self._ask_at: Micros = 0
        """From when on an unknown key is a reason to fetch them before that."""
        self._fetching: asyncio.Task[None] | None = None
        self._waiting = 0

    @property
    def is_fresh(self) -> bool:
        return self.keys is not None and self._clock.ticks() < self._due_at

    async def keys_for(self, key_id: str | None) -> "KeySet | None":
        """The keys, among which this one is if the issuer has it; None when there are none at all."""
        now = self._clock.ticks()
        known = self.keys is not None and self.keys.knows(key_id)
        if now >= self._due_at:
            self._fetch()
        elif self.keys is not None and not known and now >= self._ask_at:
            self._ask_at = now + PAUSE
            self._fetch()
        if not known:
            await self._fetched()
        return self.keys

    async def look(self) -> None:
        """See whether the keys can be fetched, unless that is known."""
        if self.keys is None or self.problem is not None:
            if self._clock.ticks() >= self._due_at:
                self._fetch()
            await self._fetched()

    def end(self) -> None:
        if self._fetching is not None:
            self._fetching.cancel()

    def _fetch(self) -> None:
        if self._fetching is None or self._fetching.done():
            self._fetching = self._group.create_task(self._renew())

    async def _fetched(self) -> None:
        """Wait for the fetch that is under way, if there is one and not too many wait; it has a bound of its own."""
        if self._fetching is None or self._waiting >= MAX_WAITING:
            return
        self._waiting += 1
        try:
            await asyncio.wait([self._fetching])
        finally:
            self._waiting -= 1

    async def _renew(self) -> None:
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                fetched = _read(await _get(self._url))
        except Exception as failed:  # whatever somebody else's server does, the gateway goes on with the keys it has
            self._failed(_problem(failed))
        else:
            before, self.keys, self.problem = self.keys, fetched, None
            self._due_at = self._clock.ticks() + KEEP
            if before is not None and before != fetched:
                self._on_change(before, fetched)

    def _failed(self, problem: str) -> None:
        if problem != self.problem:
            _LOG.warning("The keys at identity.jwt.jwks_url cannot be fetched: %s", problem)
        self.problem = problem
        self._due_at = self._clock.ticks() + (RETRY if self.keys is None else PAUSE)


def _read(raw: bytes) -> "KeySet":
    from interlock.receive.key_set import read_key_set  # late, because most gateways never need it

    return read_key_set(raw)


async def _get(url: str) -> bytes:
    """What is behind an address; whoever asks sets the time. Variables of the environment do not send us elsewhere."""
    # In a thread, because reading the certificates of the system takes tens of milliseconds.
    tls = await asyncio.to_thread(ssl.create_default_context) if url.startswith("https:") else False
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    async with (
        httpx2.AsyncClient(verify=tls, trust_env=False, timeout=None) as client,
        client.stream("GET", url, headers=headers, follow_redirects=False) as answer,
    ):
        if answer.status_code != 200:
            raise ValueError(f"it answered with status {answer.status_code}")
        body = bytearray()
        async for part in answer.aiter_raw():
            body += part
            if len(body) > MAX_BODY:
                raise ValueError(f"its answer is longer than {MAX_BODY} bytes")
        return bytes(body)


def _problem(failed: Exception) -> str:
    match failed:
        case TimeoutError():
            return f"it did not answer within {FETCH_SECONDS:.0f} s"
        case httpx2.TransportError() | OSError():
            return f"it cannot be reached: {str(failed)[:200] or type(failed).__name__}"
        case ValueError():
            return str(failed)[:200]
        case _:  # an address that means nothing, for which there are several exceptions
            return f"it cannot be asked ({type(failed).__name__})"


@dataclass(frozen=True, slots=True)
class _Verified:
    """Who is behind a token, and the key that it names."""

    principal: Principal
    key_id: str | None


class Issuer:
    """The issuer that the configuration names, if it names one; which it is may change while requests go on."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._group = asyncio.TaskGroup()
        self._terms: Terms | None = None
        self._source: KeySource | None = None
        self._verified: OrderedDict[str, _Verified] = OrderedDict()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """The lifetime of what is fetched."""
        async with self._group:
            try:
                yield
            finally:
                if self._source is not None:
                    self._source.end()

    def trust(self, terms: Terms | None) -> None:
        """Take tokens on these terms from now on, and on no others; None takes none."""
        if terms == self._terms:
            return
        before, self._terms = self._terms, terms
        self._verified.clear()
        if before is not None and terms is not None and before.jwks_url == terms.jwks_url:
            return
        if self._source is not None:
            self._source.end()
        self._source = None if terms is None else KeySource(terms.jwks_url, self._clock, self._group, self._changed)

    def _changed(self, before: "KeySet", after: "KeySet") -> None:
        """Forget the tokens whose keys are not what they were."""
        ids = {each.key_id for each in self._verified.values()}
        gone = {key_id for key_id in ids if before.of(key_id) != after.of(key_id)}
        for token, each in list(self._verified.items()):
            if each.key_id in gone:
                del self._verified[token]

    def known(self, text: str) -> Principal | None:
        """Who is behind a token that was verified before, as long as that holds."""
        if self._source is None or not self._source.is_fresh:
            return None
        token = token_id(text)
        found = self.again(token)
        if found is not None:
            self._verified.move_to_end(token)
        return found

    def again(self, token_id: str) -> Principal | None:
        """Who came with the token of this id, as long as that holds: it may be forgotten earlier, but never later."""
        found = self._verified.get(token_id)
        if found is None:
            return None
        if self._is_over(found):
            del self._verified[token_id]
            return None
        return found.principal

    def may_still_answer(self, name: str) -> bool:
        """Whether a principal has a token with which it may answer, among those that are known."""
        return any(
            each.principal.name == name and "approver" in each.principal.roles and not self._is_over(each)
            for each in self._verified.values()
        )

    def _is_over(self, verified: "_Verified") -> bool:
        return self._clock.now() >= (verified.principal.scope.expires_at or 0)

    async def admit(self, text: str) -> Principal | Reason:
        """Who is behind a token, or why nobody is; it may take until the keys are there."""
        terms, source = self._terms, self._source
        if terms is None or source is None:
            return errors.UNAUTHENTICATED(problem="The token is not valid.")
        presented = read(text)
        if isinstance(presented, Reason):
            return presented
        keys = await source.keys_for(presented.key_id)
        if keys is None:
            return errors.JWT_NO_KEYS()
        found = identified(presented, keys, terms, self._clock.now())
        if isinstance(found, Principal) and terms is self._terms:
            self._remember(presented, found)
        return found

    def _remember(self, presented: Presented, principal: Principal) -> None:
        self._verified[presented.id] = _Verified(principal, presented.key_id)
        if len(self._verified) > MAX_VERIFIED:
            self._verified.popitem(last=False)

    async def standing(self) -> Standing | None:
        """How the issuer is doing; None when none is named."""
        terms, source = self._terms, self._source
        if terms is None or source is None:
            return None
        await source.look()
        return Standing(terms.issuer, terms.audience, len(source.keys.keys) if source.keys else 0, source.problem)
