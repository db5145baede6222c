"""Write `docs/reference/` from the code: settings, commands, routes, codes, clients.

What the reference says is what the program does, because nobody writes it by hand: `make docs` runs this file, and a
test fails when a page is not what the code gives now. It refuses to explain; that is what the other pages are for.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias, cast

from interlock import errors
from interlock.cli.checkups.codes import CODES
from interlock.cli.clients.table import CLIENTS, Client, Surroundings, System
from interlock.cli.command import Verb, parser_for
from interlock.cli.main import NOUNS, SUMMARY
from interlock.config.tree import json_schema
from interlock.errors import ANSWERS, SHELL_FIXES, Code, Exit, Message
from interlock.lab.suites.suite import json_schema as suite_schema
from interlock.web.problems import PROBLEM_JSON
from interlock.web.routes import description

FOLDER = Path(__file__).parent / "reference"
_MADE = "<!-- Written by docs/reference.py from the code. Do not edit: run `make docs`. -->"
Schema: TypeAlias = Mapping[str, Any]
Lines: TypeAlias = Iterator[str]


def pages() -> dict[str, str]:
    """Every page of the reference, by its file name."""
    made = {
        "config.md": _config(),
        "cli.md": _cli(),
        "rest.md": _rest(),
        "codes.md": _codes(),
        "clients.md": _clients(),
        "suites.md": _suites(),
    }
    return {name: "\n".join([_MADE, *lines]).rstrip() + "\n" for name, lines in made.items()}


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Lines:
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(each.replace('|', chr(92) + '|').replace(chr(10), ' ') for each in row)} |"
    yield ""


def _code(text: object) -> str:
    return f"`{text}`"


# Kinds of values -------------------------------------------------------------------------------------------------

_PATTERNS = {"(ms|s|m|h|d)": "duration", "KiB": "size", "postgres": "text", "https": "address"}
_PLAIN = {"integer": "number", "boolean": "true or false", "string": "text", "null": "null", "object": "object"}


def _kind(schema: Schema, known: Mapping[str, Schema]) -> str:
    """What a value may be, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return name if "properties" in known[name] else _kind(known[name], known)
    if "enum" in schema:
        return " | ".join(_code(each) for each in schema["enum"])
    if "const" in schema:
        return _code(schema["const"])
    if "anyOf" in schema:
        return _one_of(schema["anyOf"], known)
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}), known)}"
    shape = str(schema.get("pattern", ""))
    named = next((name for part, name in _PATTERNS.items() if part in shape), None)
    return named or _mapping(schema, known) or _PLAIN.get(str(schema.get("type")), "anything")


def _one_of(schemas: Sequence[Schema], known: Mapping[str, Schema]) -> str:
    kinds = list(dict.fromkeys(_kind(each, known) for each in schemas))
    for narrow in ("duration", "size"):  # a bare number is one way to write them
        if narrow in kinds and "number" in kinds:
            kinds.remove("number")
    return " or ".join("a list of them" if each == f"list of {kinds[0]}" else each for each in kinds)


def _mapping(schema: Schema, known: Mapping[str, Schema]) -> str | None:
    values = _values(schema)
    return f"names to {_kind(values, known)}" if values else None


def _values(schema: Schema) -> Schema | None:
    """What the values of a mapping are, where the schema says."""
    patterns: Mapping[str, Schema] = schema.get("patternProperties", {})
    others = schema.get("additionalProperties")
    return next(iter(patterns.values()), None) or (cast("Schema", others) if isinstance(others, dict) else None)


def _default(schema: Schema) -> str:
    if "default" not in schema:
        return "required"
    value = schema["default"]
    if value in ({}, [], ""):
        return "none"
    return _code(value if isinstance(value, str) else json.dumps(value))


# Settings --------------------------------------------------------------------------------------------------------


def _config() -> Lines:
    schema = json_schema()
    yield "# Settings"
    yield ""
    yield "Every key of `interlock.yaml`. Any of them may be left out, except where *required* is said of a part that"
    yield "is there. Each is a variable too: `INTERLOCK_` and the key in capitals, with `__` for a dot, such as"
    yield "`INTERLOCK_HOLD__ANSWER_AFTER=30s`."
    yield ""
    yield from _section("", schema, schema["$defs"])


def _suites() -> Lines:
    known = suite_schema()["$defs"]
    yield "# Suites"
    yield ""
    yield "Every key of a suite for `interlock test`, a file in YAML. `interlock test --schema` prints the same"
    yield "as JSON Schema, for editors. A test makes one call; unless it looks at `isError` or `error`, the call has to"
    yield "succeed."
    yield ""
    yield from _section("", known["Suite"], known)


def _section(path: str, schema: Schema, known: Mapping[str, Schema]) -> Lines:
    inside: list[tuple[str, Schema]] = []
    rows: list[Sequence[str]] = []
    for key, each in schema["properties"].items():
        place = f"{path}{key}"
        below = _below(place, each, known)
        if below is not None:
            inside.append(below)
        kind = "section" if below and "$ref" in each else _kind(each, known)
        default = "see there" if kind == "section" else _default(each)
        rows.append((_code(place), kind, default, each["description"]))
    yield from _table(("key", "type", "default", "meaning"), rows)
    for place, below_schema in inside:
        yield f"## {place.removesuffix('.')}"
        yield ""
        yield from _section(place, below_schema, known)


def _below(place: str, schema: Schema, known: Mapping[str, Schema]) -> tuple[str, Schema] | None:
    """The section that a key holds, directly or as the parts of a list or mapping, with the path of its keys."""
    ways: tuple[tuple[str, Schema | None], ...] = (
        (".", schema),
        ("[].", schema.get("items")),
        (".ID.", _values(schema)),
        (".", next(iter(schema.get("anyOf", ())), None)),
    )
    for sign, part in ways:
        named = known.get(str((part or {}).get("$ref", "")).rpartition("/")[2], {})
        if "properties" in named:
            return place + sign, named
    return None


# Commands --------------------------------------------------------------------------------------------------------


_EVERYWHERE = ("help", "config", "data_dir")


def verbs() -> Iterator[tuple[str, Verb]]:
    """Every verb with the words that call it."""
    for noun in NOUNS:
        module = noun.load()
        if hasattr(module, "VERB"):
            yield f"interlock {noun.name}", module.VERB
        else:
            yield from ((f"interlock {noun.name} {verb.name}", verb) for verb in module.VERBS)


def _cli() -> Lines:
    yield "# Commands"
    yield ""
    yield " ".join(SUMMARY.split())
    yield ""
    yield "`il` is short for `interlock`. Every command has `--help`, `--config FILE` (also `INTERLOCK_CONFIG`) and"
    yield "`--data-dir DIR` (also `INTERLOCK_DATA_DIR`), which are not repeated below."
    yield ""
    yield from _table(
        ("exit code", "meaning"), ((str(each.value), each.name.lower().replace("_", " ")) for each in Exit)
    )
    for words, verb in verbs():
        yield from _verb(words, verb)


def _verb(words: str, verb: Verb) -> Lines:
    yield f"## {words}"
    yield ""
    yield verb.summary
    yield ""
    actions = parser_for(words, verb)._actions  # pyright: ignore[reportPrivateUsage] - argparse tells it in no other way
    rows = [(_spelled(each), _helped(each)) for each in actions if each.dest not in _EVERYWHERE]
    if rows:
        yield from _table(("option", "meaning"), rows)
    yield "```console"
    yield from (f"$ {example}" for example in verb.examples)
    yield "```"
    yield ""


def _spelled(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return _code(names)
    choices = "|".join(map(str, action.choices)) if action.choices else None
    shown = action.metavar or choices or action.dest.upper()
    return _code(f"{names} {shown}".strip())


def _helped(action: argparse.Action) -> str:
    told = (action.help or "").replace("%%", "%")
    return f"{told} (required)" if action.required and action.option_strings else told


# Routes ----------------------------------------------------------------------------------------------------------


def _rest() -> Lines:
    document = description()
    known: Mapping[str, Schema] = document["components"]["schemas"]
    yield "# REST"
    yield ""
    yield "Everything under `/api/v1` answers JSON and needs a token (`Authorization: Bearer il_…`) or the cookie of"
    yield "the dashboard. A running gateway describes itself under `/api/v1/openapi.json`. Refusals are problem+json"
    yield "with a [code](codes.md). Unknown fields are refused."
    yield ""
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            yield from _route(f"{method.upper()} {path.replace(':anything', '')}", route, known)


def _route(title: str, route: Schema, known: Mapping[str, Schema]) -> Lines:
    yield f"## {title}"
    yield ""
    yield " ".join(route["description"].split())
    yield ""
    refusals = [f"{status} {_codes_in(each)}" for status, each in _refusals(route)]
    yield f"Roles: {', '.join(route['x-roles'])}. Answers {_answer(route, known)}. Refuses with {', '.join(refusals)}."
    yield ""
    rows = [*_parameters(route, known), *_fields(route, known)]
    if rows:
        yield from _table(("parameter", "in", "type", "default", "meaning"), rows)


def _refusals(route: Schema) -> list[tuple[str, Schema]]:
    """Every answer that is a problem, by its status; one that waits for approval is 202."""
    answers: Mapping[str, Schema] = route["responses"]
    return [(at, each) for at, each in answers.items() if at.isdigit() and PROBLEM_JSON in each["content"]]


def _codes_in(response: Schema) -> str:
    return str(response["description"]).partition(": ")[2].rstrip(".")


def _answer(route: Schema, known: Mapping[str, Schema]) -> str:
    answers: Mapping[str, Schema] = route["responses"]
    status, response = next((at, each) for at, each in answers.items() if PROBLEM_JSON not in each["content"])
    media: Mapping[str, Schema] = response["content"]
    if "application/json" not in media:
        return f"{status} with {' or '.join(map(_code, media))}"
    return f"{status} with {_kind(media['application/json']['schema'], known)}"


def _parameters(route: Schema, known: Mapping[str, Schema]) -> Iterator[Sequence[str]]:
    for each in route.get("parameters", ()):
        default = "required" if each["required"] else _default({"default": None, **each["schema"]})
        yield _code(each["name"]), each["in"], _kind(each["schema"], known), default, each.get("description", "")


def _fields(route: Schema, known: Mapping[str, Schema]) -> Iterator[Sequence[str]]:
    body: Schema = route.get("requestBody", {})
    if not body:
        return
    wanted = body["content"]["application/json"]["schema"]
    for reference in (wanted, *wanted.get("anyOf", ())):
        shape = known.get(str(reference.get("$ref", "")).rpartition("/")[2], {})
        for name, each in shape.get("properties", {}).items():
            default = "required" if name in shape.get("required", ()) else _default({"default": None, **each})
            yield _code(name), "body", _kind(each, known), default, each.get("description", "")


# Codes -----------------------------------------------------------------------------------------------------------


def _codes() -> Lines:
    messages = [each for each in vars(errors).values() if isinstance(each, Message)]
    yield "# Codes"
    yield ""
    yield "Every refusal carries one of these codes: in `structuredContent` for agents, in problem+json for REST, in"
    yield "`--json` errors at a shell. They are never renamed. Words in braces are filled in."
    yield ""
    yield from _table(
        ("code", "HTTP", "exit"),
        ((f"[{code}](#{code.lower()})", str(ANSWERS[code].http), str(ANSWERS[code].exit.value)) for code in Code),
    )
    for code in Code:
        yield f"## {code}"
        yield ""
        yield from _table(("sentence", "what to do"), _sentences([each for each in messages if each.code is code]))
        if code in SHELL_FIXES:
            yield f"At a shell: {SHELL_FIXES[code]}"
            yield ""

    yield "## Codes of the doctor"
    yield ""
    yield "What `interlock doctor` checks, and what `interlock doctor --fix` does about it by itself."
    yield ""
    checks = ((_code(each.code), each.check, each.what, each.repaired or "nothing") for each in CODES.values())
    yield from _table(("code", "check", "what should be", "what --fix does"), checks)


def _sentences(messages: Iterable[Message]) -> Iterator[Sequence[str]]:
    for each in messages:
        yield tuple(part.replace("{{", "{").replace("}}", "}") for part in (each.text, each.fix))


# Clients ---------------------------------------------------------------------------------------------------------

_SYSTEMS: tuple[System, ...] = ("linux", "darwin", "win32")


def _clients() -> Lines:
    yield "# MCP clients"
    yield ""
    yield "The files that `interlock init` and `interlock client` know, and where servers stand in them. `*` is any"
    yield "name. `XDG_CONFIG_HOME`, `APPDATA` and `CODEX_HOME` move what is below `~/.config`, `~/AppData/Roaming` and"
    yield "`~/.codex`."
    yield ""
    for each in CLIENTS.values():
        yield f"## {each.title}"
        yield ""
        yield from _table(("", ""), _client(each))


def _client(client: Client) -> Iterator[Sequence[str]]:
    yield "name", _code(client.name)
    files = {system: _code(_file(client, system)) for system in _SYSTEMS}
    if len(set(files.values())) == 1:
        yield "file of the user", files["linux"]
    else:
        yield from ((f"file of the user, {system}", file) for system, file in files.items())
    yield "file of a project", _code(client.project) if client.project else "none"
    yield "servers stand under", " and ".join(_code(".".join(keys)) for keys in client.keys)
    yield "takes addresses (`--http`)", f"yes, as `{client.url}`" if client.url else "no, it only starts servers"
    yield "longer wait for tools", f"set in `{client.timeout.key}`" if client.timeout else "cannot be set there"


def _file(client: Client, system: System) -> str:
    home = Surroundings(Path("~"), Path(), {}, system)
    return str(PurePosixPath(client.user_file(home)))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
