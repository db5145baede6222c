"""What the routes need, handed over by the composition root.

The routes build nothing themselves: a part that is not in here cannot be reached from REST. There is no upstream among
them, only the pipeline, which is the one door to them.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from interlock.approve.notices import Notices
from interlock.approve.room import Room
from interlock.clock import Clock
from interlock.core.drift import Review
from interlock.core.health import Upstreams
from interlock.core.model import Json
from interlock.core.policy import Draft
from interlock.core.roster import Roster
from interlock.errors import ConfigError
from interlock.lab.archive import Archive
from interlock.pipeline import Pipeline
from interlock.receive.edge import Edge
from interlock.receive.identify import Callers, Principal
from interlock.receive.issuer import Issuer
from interlock.receive.workspaces import Workspaces
from interlock.store.audit.sealer import Sealer
from interlock.store.protocol import Store
from interlock.web.audience import Audience
from interlock.web.browsers import Browser, Browsers
from interlock.web.feed import Feed
from interlock.web.metrics import Metrics

PRINCIPAL_KEY = "interlock.principal"
BROWSER_KEY = "interlock.browser"
"""Where the door puts into the ASGI scope whom it identified, and the browser, where it was by one."""


def _no_draft(text: str) -> Draft:
    raise ConfigError(("a configuration cannot be read here",))


@dataclass(slots=True)
class Parts:
    """The parts of a running gateway that REST may use. Some are replaced when the configuration changes."""

    store: Store
    pipeline: Pipeline
    callers: Callers
    clock: Clock
    edge: Edge
    upstreams: Upstreams
    metrics: Metrics
    workspaces: Workspaces
    settings: Mapping[str, Json]
    """What `GET /settings` shows."""
    drift: Review
    """The operator's word about tools."""
    feed: Feed
    """What readers of the event stream are told."""
    roster: Roster
    """Which servers there are."""
    room: Room
    """Where calls wait, and who answers for them."""
    notices: Notices
    audience: Audience
    """Who is told of approvals, and what became of that."""
    browsers: Browsers
    """Who is signed in to the dashboard."""
    hidden: Collection[str] = ()
    """The values behind references, which are shown to nobody, whoever repeats them. There may come to be more."""
    issuer: Issuer | None = None
    """Whose tokens are a second way in."""
    draft: Callable[[str], Draft] = _no_draft
    """Reads the text of a configuration that is not in force. Raises ConfigError, and may take a while."""
    archive: Archive = field(default_factory=Archive)
    """The runs of the lab that are kept."""
    sealer: Sealer | None = None
    """Who seals the log."""
    replaying: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by who goes through the record: one at a time, so that calls are not delayed."""

    def listening(self) -> list[str]:
        """Who would hear of a call that waits, in words."""
        return self.audience.listening()


def parts_of(request: Request) -> Parts:
    """The parts of the gateway that serves this request."""
    parts: Parts = request.app.state.parts
    return parts


def principal_of(request: Request) -> Principal:
    """Who asks, as the door identified it."""
    principal: Principal = request.scope[PRINCIPAL_KEY]
    return principal


def browser_of(request: Request) -> Browser | None:
    """The browser that asks; None for whoever brings a token."""
    browser: Browser | None = request.scope[BROWSER_KEY]
    return browser


Here = Annotated[Parts, Depends(parts_of)]
Who = Annotated[Principal, Depends(principal_of)]
