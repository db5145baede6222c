"""A stop of the user's gateway holds for a gateway of the lab's own too.

Whoever pulls the emergency stop means everything, and does not know in which folder a recording runs. So the stops are
asked for before every call, and taken over: the call is then refused, and recorded, in the way of any other. This
module refuses to lift a stop that was ordered at the lab's own gateway.
"""

from typing import Any

from interlock import errors
from interlock.approve.freezer import Freezer
from interlock.cli.command import Values
from interlock.cli.gateway import Api, credential_of, folder_of, reaching, remote
from interlock.core.freezes import FreezeKind, Frozen
from interlock.core.model import Call
from interlock.errors import InterlockError
from interlock.pipeline import Pipeline, Reply, Way
from interlock.store.folder import DataFolder

_BY = "operator"


async def see_that_nothing_stops(values: Values, server: str, caller: str) -> None:
    """Raise InterlockError if no call could pass anyway."""
    async with reaching(values, servers=False) as reach:
        stops = await _stops(Api(reach, credential_of(folder_of(values))))
    about = (Frozen(FreezeKind.ALL), Frozen(FreezeKind.SERVER, server), Frozen(FreezeKind.CALLER, caller))
    found = next((each for each in about if each in stops), None)
    if found is not None:
        raise InterlockError(errors.FROZEN(what=stops[found] or found.shown))


def follow_stops(folder: DataFolder, pipeline: Pipeline, freezer: Freezer) -> None:
    """Have the stops of the gateway of a folder, if one runs, taken over before each call."""
    run, taken = pipeline.run, set[Frozen]()

    async def looked_first(call: Call, way: Way) -> Reply:
        await _take_over(folder, freezer, taken)
        return await run(call, way)

    pipeline.run = looked_first


async def _take_over(folder: DataFolder, freezer: Freezer, taken: set[Frozen]) -> None:
    address = folder.announced()
    if address is None:
        return
    try:
        stops = await _stops(Api(remote(address, folder), credential_of(folder)))
    except InterlockError:  # it went away: what was stopped stays so
        return
    for what in stops.keys() - freezer.in_force.keys():
        taken.add(what)
        await freezer.freeze(what, _BY, stops[what])
    for what in taken - stops.keys():
        taken.discard(what)
        await freezer.thaw(what, _BY)


async def _stops(api: Api) -> dict[Frozen, str]:
    """What is stopped, and why."""
    found: dict[str, Any] = await api.get("freezes")
    return {
        Frozen(FreezeKind(each["kind"]), each["server"] or each["caller"] or ""): each["reason"]
        for each in found["items"]
    }
