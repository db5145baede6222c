"""The settings that are in force, to look at. Secrets are hidden here too, whoever put the settings together."""

from fastapi import Response

from interlock.core.redact import redact
from interlock.web.answers import json_answer
from interlock.web.parts import Here


async def get_settings(here: Here) -> Response:
    """Show the settings that are in force."""
    return json_answer(redact(here.settings))
