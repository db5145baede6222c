"""The face that agents see, put together from the parts of a gateway.

Apart from the rest because everything that speaks the protocol is loaded with it.
"""

from interlock.config.tree import Settings
from interlock.core.health import Introduction
from interlock.forward.fleet import Fleet
from interlock.receive.catalog import Catalog, Expose
from interlock.receive.desk_tools import DeskTools
from interlock.receive.earshot import Earshot
from interlock.receive.face import Face
from interlock.receive.lane import Lane
from interlock.receive.parked import Parking
from interlock.receive.passage import Passage
from interlock.receive.sealed import Seal
from interlock.receive.server import Rest
from interlock.receive.sessions import Sessions
from interlock.receive.traced import Traced
from interlock.receive.turns import Turns
from interlock.receive.workspaces import Workspaces
from interlock.web.parts import Parts


def face_of(
    settings: Settings, parts: Parts, fleet: Fleet, workspaces: Workspaces, in_place_of: Introduction | None = None
) -> Face:
    """The app behind `/mcp`; `in_place_of` is the server that it shows itself as, if it is to stand for one."""
    pipeline, callers, clock = parts.pipeline, parts.callers, parts.clock
    catalog = Catalog(Expose(settings.expose), settings.namespacing, own_tools=in_place_of is None)
    turns = Turns(pipeline, Parking(Seal(clock)))
    tools = DeskTools(parts.room, parts.store.approvals, callers.is_person, lambda: pipeline.policy.patience)
    tools.on_look = parts.audience.seen
    lane = Lane(pipeline, catalog, turns, tools)
    earshot = Earshot(tools=catalog.expose is not Expose.SEARCH)
    fleet.on_change, fleet.on_offer, fleet.on_updated = earshot.tools_changed, earshot.offer_changed, earshot.updated
    passage = Passage(pipeline, catalog, earshot, turns)
    rest = Rest(lane, passage, parts.metrics.stray_call, in_place_of)
    watched = settings.telemetry
    traced = None if watched.endpoint is None else Traced(clock, goes_on=watched.propagate)
    return Face(parts.edge, callers, Sessions(clock), lane, rest, workspaces, traced)
