"""The emergency stop over REST: what is stopped, stopping it, and letting it go on.

To stop is made easy: an approver may do it too, and it counts before it is kept. To let go on is for admins only. A
name that there is not is refused, because whoever mistypes one in a hurry would believe that something stands still.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Body, Response
from pydantic import BaseModel, ConfigDict, Field

from interlock import errors
from interlock.core.freezes import Freeze, FreezeKind, Frozen
from interlock.core.lineage import ELSEWHERE
from interlock.core.toolbook import nearest
from interlock.store.protocol import StoreUnavailable
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.parts import Here, Parts, Who
from interlock.web.problems import Refusal
from interlock.web.servers import any_server
from interlock.web.tools import server_id

MAX_NAME = 200
MAX_REASON = 1000


@dataclass(frozen=True, slots=True)
class ShownFreeze:
    """A stop: of everything when `kind` is all, else of the server or the caller that is named."""

    kind: str
    server: str | None
    caller: str | None
    at: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class FreezeList:
    items: list[ShownFreeze]
    total: int


class WantedThaw(BaseModel):
    """What is meant: one server, one caller, or everything when neither is given."""

    model_config = ConfigDict(extra="forbid", strict=True)

    server: str | None = Field(default=None, min_length=1, max_length=MAX_NAME, description="Its id or namespace.")
    caller: str | None = Field(default=None, min_length=1, max_length=MAX_NAME, description="The name of a principal.")


class WantedFreeze(WantedThaw):
    """What to stop, and why."""

    reason: str = Field(default="", max_length=MAX_REASON, description="What callers are told.")


_EVERYTHING, _ALL = WantedFreeze(), WantedThaw()


async def list_freezes(here: Here) -> Response:
    """List what is stopped, oldest first."""
    found = sorted(here.room.freezer.in_force.values(), key=lambda each: each.at)
    return json_answer(FreezeList([_shown(each) for each in found], len(found)))


async def freeze(here: Here, who: Who, wanted: Annotated[WantedFreeze, Body()] = _EVERYTHING) -> Response:
    """Stop everything, or one server, or one caller. It counts before it is answered."""
    what = _meant(wanted)
    if what.kind is FreezeKind.SERVER:
        what = Frozen(FreezeKind.SERVER, any_server(here, what.name).id)
    elif what.kind is FreezeKind.CALLER:
        _known_caller(what.name, here.callers.names())
    try:
        made = await here.room.freezer.freeze(what, who.name, wanted.reason)
    except StoreUnavailable:
        raise Refusal(errors.FREEZE_NOT_KEPT(what=what.shown)) from None
    return json_answer(_shown(made))


async def thaw(here: Here, who: Who, wanted: Annotated[WantedThaw, Body()] = _ALL) -> Response:
    """Let everything, or one server, or one caller go on. Each stop is lifted by itself."""
    what = _stopped(_meant(wanted), here)
    before = here.room.freezer.in_force.get(what)
    if before is None or not await here.room.freezer.thaw(what, who.name):
        raise Refusal(errors.NOT_FROZEN(what=what.shown, suggestion=_nearest_stopped(what, here)))
    return json_answer(_shown(before))


def _meant(wanted: WantedThaw) -> Frozen:
    if wanted.server is not None and wanted.caller is not None:
        raise Refusal(errors.BAD_FIELDS(problems="server: give server or caller, not both"))
    if wanted.server is not None:
        return Frozen(FreezeKind.SERVER, wanted.server)
    return Frozen(FreezeKind.ALL) if wanted.caller is None else Frozen(FreezeKind.CALLER, wanted.caller)


def _stopped(what: Frozen, here: Parts) -> Frozen:
    """What is stopped under this name. A server that is stopped may be gone by now, and is found all the same."""
    if what.kind is not FreezeKind.SERVER or what in here.room.freezer.in_force:
        return what
    return Frozen(FreezeKind.SERVER, server_id(here.pipeline.book, what.name))


def _known_caller(name: str, known: Sequence[str]) -> None:
    # Whom an issuer elsewhere vouches for is on no list of ours.
    if name not in known and not name.startswith(ELSEWHERE):
        raise Refusal(errors.NOT_FOUND(what=f"Caller '{name[:100]}'", suggestion=nearest(name, known)))


def _nearest_stopped(what: Frozen, here: Parts) -> str:
    return nearest(what.name, [each.name for each in here.room.freezer.in_force if each.kind is what.kind])


def _shown(made: Freeze) -> ShownFreeze:
    kind, name = made.what.kind, made.what.name
    return ShownFreeze(
        kind=kind.value,
        server=name if kind is FreezeKind.SERVER else None,
        caller=name if kind is FreezeKind.CALLER else None,
        at=times.iso(made.at),
        by=made.by,
        reason=made.reason,
    )
