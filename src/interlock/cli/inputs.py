"""Reading what a user typed or points at: JSON texts, files, `server:tool` names, the configuration.

Every function either returns a well-typed value or raises an InterlockError whose text says what to do.
"""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from interlock.core.model import Json, JsonObject
from interlock.errors import BAD_REQUEST, NOT_FOUND, InterlockError

if TYPE_CHECKING:
    from interlock.cli.command import Values
    from interlock.config.load import Config


def bad(problem: str, fix: str) -> InterlockError:
    return InterlockError(BAD_REQUEST(problem=problem, fix=fix))


def load_config(values: "Values") -> "Config":
    """The configuration that `--config` and the environment lead to."""
    from interlock.config.load import load

    return load(values.config)


def store_of(values: "Values") -> str:
    """Where the record is kept by the configuration: `sqlite`, or the address of a database, which is not for showing.
    Raises ConfigError."""
    import os

    from interlock.app.compiled import store_address

    return store_address(load_config(values), os.environ)


def parse_json(text: str, what: str) -> Json:
    """Strict JSON: a duplicate key or a NaN is a mistake, not a choice."""
    try:
        value = json.loads(
            text,
            object_pairs_hook=_no_duplicates,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_not_too_long,
        )
        # A lone surrogate decodes but can never be sent or stored.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
        return cast("Json", value)
    except UnicodeEncodeError:
        raise bad(f"{what} holds half a character", "Write characters beyond U+FFFF as a pair of escapes.") from None
    except (ValueError, RecursionError) as error:
        problem = "is nested too deeply" if isinstance(error, RecursionError) else f"is not valid JSON: {error}"
        raise bad(f"{what} {problem}", "Check quotes and commas; `python3 -m json.tool` points at the place.") from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key '{twice}' stands twice in one object")
    return members


def _not_too_long(text: str) -> int:
    if len(text) > 1000:
        raise ValueError("a number is too long")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON number")


def parse_object(text: str, what: str) -> JsonObject:
    value = parse_json(text, what)
    if not isinstance(value, Mapping):
        raise bad(f"{what} must be a JSON object", 'Write it like {"path": "README.md"}.')
    return value


def read_tools(source: str) -> Sequence[JsonObject]:
    """The tools of a saved tools/list: the result, the whole JSON-RPC answer, or a bare list. `-` is stdin."""
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except OSError as error:
        raise bad(f"{source}: cannot be read: {error.strerror}", "Check the path; `-` reads stdin.") from None
    except UnicodeDecodeError:
        raise bad(f"{source}: is not UTF-8 text", "Save the tools/list answer as UTF-8 JSON.") from None
    value = parse_json(text, source)
    for key in ("result", "tools"):
        if isinstance(value, Mapping) and key in value:
            value = value[key]
    if not isinstance(value, list):
        raise bad(f"{source}: holds no list of tools", 'Save a tools/list result: {"tools": [{"name": …}]}.')
    return [_tool(each, f"{source}: tool {at}") for at, each in enumerate(value, start=1)]


def _tool(value: Json, what: str) -> JsonObject:
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str) or not value["name"]:
        raise bad(f"{what} has no name", 'Each tool is an object with a "name".')
    return value


def parse_arg(text: str) -> tuple[str, str]:
    """`--arg key=value`, split at the first `=`."""
    key, equals, value = text.partition("=")
    if not equals:
        raise bad(f"--arg '{text}' has no '='", "Write --arg key=value.")
    if not key.strip():
        raise bad(f"--arg '{text}' has no name before the '='", "Write --arg key=value.")
    return key.strip(), value


def parse_args(texts: Sequence[str]) -> dict[str, Json]:
    arguments: dict[str, Json] = {}
    for text in texts:
        key, value = parse_arg(text)
        if key in arguments:
            raise bad(f"--arg '{key}' is given twice", "Give each argument once.")
        arguments[key] = value
    return arguments


def split_tool(name: str) -> tuple[str | None, str]:
    """`server:tool` or a bare tool name."""
    server, colon, tool = name.partition(":")
    if not colon:
        return None, name
    # No server has a slash in its name, and in a path it would end the name.
    if not server or not tool or "/" in server:
        raise bad(f"'{name}' is no tool name", "Write it as server:tool, or as the bare tool name.")
    return server, tool


def server_and_tool(name: str) -> tuple[str, str]:
    """`server:tool`, and nothing less."""
    server, tool = split_tool(name)
    if server is None:
        raise bad(f"'{name}' does not say its server", "Write it as server:tool.")
    return server, tool


def known(what: str, given: str, choices: Sequence[str]) -> str:
    """The given name if it is one of the choices; otherwise an error with a suggestion."""
    if given in choices:
        return given
    import difflib

    near = difflib.get_close_matches(given, choices, n=1)
    listed = f" Known: {', '.join(choices)}." if choices else " None is configured."
    suggestion = f" Did you mean '{near[0]}'?" if near else listed
    raise InterlockError(NOT_FOUND(what=f"{what} '{given}'", suggestion=suggestion))
