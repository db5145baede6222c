"""The settings that are in force, to look at. Secrets are hidden here too, whoever put the settings together."""

from dataclasses import asdict

from fastapi import Response

from interlock.core.redact import redact
from interlock.web.answers import json_answer
from interlock.web.parts import Here


async def get_settings(here: Here) -> Response:
    """Show the settings that are in force, and whether the keys of the issuer, if one is named, can be fetched."""
    standing = None if here.issuer is None else await here.issuer.standing()
    return json_answer(redact({**here.settings, "identity": None if standing is None else asdict(standing)}))
