"""Finding secrets that stand in the settings of a server as they are, where a reference should stand.

A net, not a proof: names that promise a secret, shapes of known credentials, and long texts that nobody could have
thought up. What is found is named by its place, never by its value.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from interlock.core.redact import is_secret_key, redact_text

_REFERENCE = re.compile(r"\$\{[^}]*\}")
_RANDOM = re.compile(r"[A-Za-z0-9_+=-]{24,}")
_SWITCHES = frozenset({"true", "false", "yes", "no", "on", "off", "0", "1", "none", "null"})


def plain_secrets(definition: Mapping[str, Any]) -> list[str]:
    """The places of what looks like a secret in the settings of a server."""
    named = (*_named(definition, "env"), *_named(definition, "headers"))
    return [*named, *_in_arguments(definition), *_in_url(definition)]


def looks_secret(name: str, value: str) -> bool:
    """Whether a named value looks like a secret that stands there as it is."""
    rest = _REFERENCE.sub("", value)
    if redact_text(rest) != rest:
        return True
    if rest != value or not rest.strip() or rest.lower() in _SWITCHES:
        return False
    return is_secret_key(name) or _is_random(rest)


def _is_random(text: str) -> bool:
    digits, letters = sum(map(str.isdigit, text)), sum(map(str.isalpha, text))
    return bool(_RANDOM.fullmatch(text)) and digits >= 3 and letters >= 3


def _named(definition: Mapping[str, Any], key: str) -> Iterator[str]:
    members = definition.get(key)
    if isinstance(members, Mapping):
        for name, value in cast("Mapping[str, Any]", members).items():
            if isinstance(value, str) and looks_secret(name, value):
                yield f"{key}.{name}"


def _in_arguments(definition: Mapping[str, Any]) -> Iterator[str]:
    given = definition.get("args")
    arguments = cast("list[Any]", given) if isinstance(given, list) else list[Any]()
    words = [str(definition.get("command") or ""), *map(str, arguments)]
    for at, (before, word) in enumerate(pairwise(words)):
        if redact_text(word) != word or (_names_secret(before) and looks_secret("token", word)):
            yield f"args[{at}]"
    if redact_text(words[0]) != words[0]:
        yield "command"


def _names_secret(word: str) -> bool:
    """Whether a word is an option whose value, in the next word, is a secret."""
    return word.startswith("-") and "=" not in word and is_secret_key(word.lstrip("-"))


def _in_url(definition: Mapping[str, Any]) -> Iterator[str]:
    url = definition.get("url")
    if not isinstance(url, str):
        return
    try:
        parts = urlsplit(url)
        named = parse_qsl(parts.query)
    except ValueError:
        return  # no URL at all: that is told elsewhere
    if parts.password or redact_text(url) != url or any(looks_secret(name, value) for name, value in named):
        yield "url"
