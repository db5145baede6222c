"""The settings that are in force, to look at. Secrets are hidden here too, whoever put the settings together."""

from dataclasses import asdict

from fastapi import Response

from interlock.core.redact import redact
from interlock.web.answers import json_answer
from interlock.web.parts import Here, Parts
from interlock.web.readiness import readiness


async def get_settings(here: Here) -> Response:
    """Show the settings in force, how the gateway is, who listens, and how the issuer does, if one is named."""
    standing = None if here.issuer is None else await here.issuer.standing()
    now = {
        "identity": None if standing is None else asdict(standing),
        "listening": here.listening(),
        "store": here.store.place,
        "gateways": _gateways(here),
        "readiness": asdict(await readiness(here)),
    }
    return json_answer(redact({**here.settings, **now}))


def _gateways(here: Parts) -> int | None:
    """How many use the store, this one counted; None where it has one of its own."""
    return None if here.room.peers is None else 1 + here.room.peers.lease.others
