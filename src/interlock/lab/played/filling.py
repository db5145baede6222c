"""`${args.x}` in what a mock answers, replaced by the arguments of the call.

A text that is one reference and nothing else becomes the argument itself, with its JSON type; inside a longer text it
is written out, and so it is where the protocol wants a text: the `text` of a text block. What is not there is an empty
text: a mock answers, it does not judge. The arguments are only put in place, never looked through for references of
their own.
"""

import json
import re
from collections.abc import Mapping

from interlock.core.model import Json, JsonObject

_REFERENCE = re.compile(r"\$\{args((?:\.[^.{}]+)+)\}")


def filled(template: Json, arguments: JsonObject) -> Json:
    """A copy of the template with every reference replaced."""
    if isinstance(template, str):
        return _text(template, arguments)
    if isinstance(template, Mapping):
        return {key: _member(template, key, filled(value, arguments)) for key, value in template.items()}
    if isinstance(template, list):
        return [filled(each, arguments) for each in template]
    return template


def _member(template: JsonObject, key: str, value: Json) -> Json:
    return _written(value) if key == "text" and template.get("type") == "text" else value


def _text(template: str, arguments: JsonObject) -> Json:
    whole = _REFERENCE.fullmatch(template)
    if whole:
        return _found(whole[1], arguments)
    return _REFERENCE.sub(lambda each: _written(_found(each[1], arguments)), template)


def _found(path: str, arguments: JsonObject) -> Json:
    found: Json = arguments
    for name in path[1:].split("."):
        if not isinstance(found, Mapping) or name not in found:
            return ""
        found = found[name]
    return found


def _written(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
