"""Hearing of approvals as they come and go, from whichever gateway runs on the data folder.

The stream is opened before the list of what waits is asked for, so that nothing falls in between. When the gateway goes
away or cuts us off, it is looked for again, and what happened meanwhile is told from where we were.

This module refuses to give up while there may be a gateway again, and to show anything.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from interlock import errors
from interlock.cli.gateway import Api, credential_of, remote
from interlock.errors import Code, InterlockError
from interlock.store.folder import DataFolder

MOST = 500
"""How many of those that wait are asked for at once; it is the largest page."""
PAUSE = 1.0
"""How many seconds to wait before a gateway that went away is looked for again."""
PASSING = frozenset({Code.UPSTREAM_DOWN, Code.AUDIT_UNAVAILABLE})
"""What may be over when it is asked again: that no gateway is there, and that its database does not answer."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits now, oldest first, and how many in all. It comes at the beginning, and after each interruption.

    Of very many it holds the oldest, whose time ends first.
    """

    items: Sequence[Mapping[str, Any]]
    total: int


@dataclass(frozen=True, slots=True)
class Happened:
    """Something became of an approval: `event` says what, as `approval.created`."""

    event: str
    approval: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Lost:
    """The gateway does not answer now."""

    why: str


News: TypeAlias = Waiting | Happened | Lost


def present_api(folder: DataFolder) -> Api:
    """The REST face of the gateway that runs on a folder now."""
    address = folder.announced()
    if address is None:
        raise InterlockError(errors.NOT_RUNNING(folder=folder.path, also=""))
    return Api(remote(address, folder), credential_of(folder))


async def follow(connect: Callable[[], Api], tell: Callable[[News], None], pause: float = PAUSE) -> None:
    """Tell what waits and what happens, for ever. Raises what asking again would not mend."""
    last: int | str | None = None

    def happened(event: Mapping[str, Any]) -> None:
        nonlocal last
        last = event["number"]
        tell(Happened(event["event"], event))

    while True:
        try:
            await _listen(connect(), last, tell, happened)
        except InterlockError as failed:
            if failed.reason.code is Code.BAD_REQUEST and last is not None:
                last = None  # another log: what is there now is all that can be told
                continue
            if failed.reason.code not in PASSING:
                raise
            tell(Lost(failed.reason.text))
        await asyncio.sleep(pause)


async def waiting(api: Api) -> Waiting:
    """What waits now."""
    page = await api.get("approvals", status="pending", limit=MOST)
    if page["total"] > MOST:
        page = await api.get("approvals", status="pending", limit=MOST, offset=page["total"] - MOST)
    return Waiting(page["items"][::-1], page["total"])


async def _listen(
    api: Api, last: int | str | None, tell: Callable[[News], None], happened: Callable[[Mapping[str, Any]], None]
) -> None:
    """Tell what happens until the stream ends."""
    async with api.stream("approvals", "stream", query={}, last_event=last) as response:
        tell(await waiting(api))
        async for text in response.events():
            event = json.loads(text)
            if event["event"] == "overflow":
                return
            happened(event)
