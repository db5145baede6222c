"""The settings that are in force, to look at. Secrets are hidden here too, whoever put the settings together."""

from dataclasses import asdict

from fastapi import Response

from interlock.core.redact import redact
from interlock.web.answers import json_answer
from interlock.web.parts import Here
from interlock.web.readiness import readiness


async def get_settings(here: Here) -> Response:
    """Show the settings in force, how the gateway is, who listens, and how the issuer does, if one is named."""
    standing = None if here.issuer is None else await here.issuer.standing()
    now = {
        "identity": None if standing is None else asdict(standing),
        "listening": here.listening(),
        "store": here.store.place,
        "readiness": asdict(await readiness(here)),
    }
    return json_answer(redact({**here.settings, **now}))
