"""A cassette: what a server listed and answered in a session, as a file.

It is JSON Lines, one thing on each line: what the cassette is, then the lists, then every interaction in the order in
which it ended. A line can be added without touching those before it, so a recording that was killed is still good up to
its last whole line; and two cassettes can be compared line by line. YAML would be nicer to read and can do neither.

Secrets are hidden before anything is written, so a request is looked for in the form that it would have been written
in. What the eras of the protocol add to a result is left out: a cassette can be played to a client of any era.

This module refuses a file that is no cassette, and one that is longer than MAX_CASSETTE.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from msgspec import Struct, field

from interlock.core.canonical import canonical_text
from interlock.core.health import Introduction
from interlock.core.model import Json, JsonObject
from interlock.core.redact import KnownSecrets, redact, redact_text
from interlock.lab.played.answering import MODERN_MEMBERS, SERVER_KEY

FORMAT = 1
MAX_CASSETTE = 64 * 1024 * 1024
CALL, READ, PROMPT, COMPLETE = "tools/call", "resources/read", "prompts/get", "completion/complete"
ABOUT = {CALL: "name", READ: "uri", PROMPT: "name", COMPLETE: "ref"}
"""The methods that are recorded, and the param that says what each is about."""
_SAID = ("name", "version", "instructions")
"""What a server says of itself, as members of the first line."""
_WITH_ARGUMENTS = frozenset({CALL, PROMPT})
LISTS = {
    "tools": "tools/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
    "prompts": "prompts/list",
}
"""The lists of a cassette by their member, and the method that asks for each."""


class Interaction(Struct, frozen=True, omit_defaults=True):
    """A request and what came of it: a result or an error."""

    method: str
    params: dict[str, Any]
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class Cassette(Struct):
    """A whole cassette. A list that is not there is one that the server does not have."""

    server: str
    protocol: str
    lists: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    interactions: list[Interaction] = field(default_factory=list[Interaction])
    introduction: Introduction = Introduction()


class CassetteUnfit(Exception):
    """The file is no cassette; `line` is where that shows, counted from one."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line, self.text = line, text


class CassetteFull(Exception):
    """The cassette is as long as one may be."""


def params_of(method: str, params: JsonObject) -> dict[str, Any]:
    """The params of a request without its envelope, in the one form in which they are written and compared."""
    kept: dict[str, Any] = {key: value for key, value in params.items() if key != "_meta"}
    if method in _WITH_ARGUMENTS and not kept.get("arguments"):
        kept["arguments"] = {}
    return kept


def key_of(method: str, params: JsonObject) -> str:
    """What equal requests have in common, whatever secrets stand in them."""
    return canonical_text([method, redact(params_of(method, params))])


def plain_result(result: JsonObject) -> dict[str, Any]:
    """A result without what only one era of the protocol has."""
    plain: dict[str, Any] = {key: value for key, value in result.items() if key not in MODERN_MEMBERS}
    meta = plain.pop("_meta", None)
    if isinstance(meta, Mapping) and (own := {key: each for key, each in _items(meta) if key != SERVER_KEY}):
        plain["_meta"] = own
    return plain


def _items(members: Any) -> Iterable[tuple[str, Json]]:
    return cast("JsonObject", members).items()


# Writing ----------------------------------------------------------------------------------------------------------


class CassetteFile:
    """A cassette that is being written. Each thing is on disk as one whole line, or not at all."""

    def __init__(self, path: Path) -> None:
        """Raises OSError; a file that is there already is not written over."""
        self._descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)
        self._left = MAX_CASSETTE

    def begin(self, server: str, protocol: str, introduction: Introduction, known: KnownSecrets) -> None:
        said = {key: redact_text(getattr(introduction, key), known) for key in _SAID}
        self._write(
            {"cassette": FORMAT, "server": server, "protocol": protocol, **{k: v for k, v in said.items() if v}}
        )

    def keep_list(self, member: str, entries: list[Any], known: KnownSecrets) -> None:
        """Write a list; the last one of its kind is the one that counts."""
        # A schema has a property `password` and says nothing secret by it; so only texts are looked at, not names.
        self._write({"list": member, "entries": _without_secrets(entries, known)})

    def keep(self, interaction: Interaction, known: KnownSecrets) -> None:
        """Write an interaction; raises OSError or CassetteFull, after which the file must not be written any more."""
        told = {"method": interaction.method, "params": interaction.params}
        outcome = {"result": interaction.result} if interaction.error is None else {"error": interaction.error}
        self._write(cast("JsonObject", redact({**told, **outcome}, known)))

    def close(self) -> None:
        os.close(self._descriptor)

    def _write(self, members: JsonObject) -> None:
        line = json.dumps(members, ensure_ascii=False, separators=(", ", ": ")).encode("utf-8", "replace") + b"\n"
        self._left -= len(line)
        if self._left < 0:
            raise CassetteFull
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]


def _without_secrets(value: Json, known: KnownSecrets) -> Json:
    if isinstance(value, str):
        return redact_text(value, known)
    if isinstance(value, Mapping):
        return {key: _without_secrets(each, known) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_secrets(each, known) for each in value]
    return value


# Reading ----------------------------------------------------------------------------------------------------------


def read_cassette(content: bytes) -> Cassette:
    """The cassette in a file; what stands after its last whole line is what a killed recording left, and is passed
    over. Raises CassetteUnfit."""
    first, *lines = content.split(b"\n")[:-1] or [b""]
    head = _object(first, 1)
    if head.get("cassette") != FORMAT:
        raise CassetteUnfit(1, f"this is no cassette of format {FORMAT}")
    introduction = Introduction(**{key: _text(head, key, 1) for key in _SAID if key in head})
    cassette = Cassette(_text(head, "server", 1), _text(head, "protocol", 1), introduction=introduction)
    for number, line in enumerate(lines, start=2):
        _take(cassette, _object(line, number), number)
    return cassette


def _take(cassette: Cassette, members: dict[str, Any], number: int) -> None:
    if "list" in members:
        member, entries = _text(members, "list", number), members.get("entries")
        if member not in LISTS or not isinstance(entries, list):
            raise CassetteUnfit(number, "this is no list of a server")
        cassette.lists[member] = cast("list[Any]", entries)
        return
    method, params = _text(members, "method", number), members.get("params")
    result, error = members.get("result"), members.get("error")
    if method not in ABOUT or not isinstance(params, dict):
        raise CassetteUnfit(number, "this is no interaction that can be replayed")
    if not isinstance(error if result is None else result, dict) or (result is not None and error is not None):
        raise CassetteUnfit(number, "an interaction has a result or an error, as an object")
    cassette.interactions.append(Interaction(method, cast("dict[str, Any]", params), result, error))


def _object(line: bytes, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise CassetteUnfit(number, "this line is no JSON") from None
    if not isinstance(value, dict):
        raise CassetteUnfit(number, "this line is no JSON object")
    return cast("dict[str, Any]", value)


def _text(members: dict[str, Any], key: str, number: int) -> str:
    value = members.get(key)
    if not isinstance(value, str):
        raise CassetteUnfit(number, f"'{key}' must be a text")
    return value
