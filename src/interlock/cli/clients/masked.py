"""The difference between two texts of a client's file, without the secrets that stand in it.

Both texts are masked before they are compared, so a secret is in neither the old nor the new lines. Everything that a
file gives to a server as environment or header is hidden, whatever it is called; elsewhere, what looks like a secret.
Comments cannot be read, so every line passes the net for known shapes once more.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from interlock.cli.clients import jsonc, toml_text
from interlock.config.plain_secrets import looks_secret, plain_secrets
from interlock.config.source import parse
from interlock.core.redact import redact_text

MASK = '"***"'
_HIDING = frozenset({"env", "headers", "http_headers", "requestInit"})
_REFERENCES = r"(?:(?i:bearer|basic|token)\s+)?(?:\$\{[^}]*\}\s*)+"
_REFERRING_VALUE = re.compile(_REFERENCES)
_REFERRING = re.compile(rf"""[\s"'\w.-]*[:=]\s*["']?{_REFERENCES}["',}}\]\s]*""")
"""A name and references as its value, in any of the notations."""
_CONTEXT = 3


Kind = Literal["json", "toml", "yaml"]


def difference(name: str, before: str, after: str, kind: Kind) -> str:
    """A unified diff of two texts; empty when they are the same."""
    if before == after:
        return ""
    old, new = (_lines(masked(each, kind)) for each in (before, after))
    return "\n".join(difflib.unified_diff(old, new, name, name, n=_CONTEXT, lineterm=""))


def _lines(text: str) -> list[str]:
    return [_line(line.removesuffix("\r")) for line in text.removesuffix("\n").split("\n")] if text else []


def _line(line: str) -> str:
    """A line that passed the net once more. A reference is no secret, whatever it is called."""
    return line if _REFERRING.fullmatch(line) else MASK.join(map(redact_text, line.split(MASK)))


def masked(text: str, kind: Kind) -> str:
    """The text of a file that can be read, with every secret replaced."""
    return _SPANS[kind](text)


def _masked_json(text: str) -> str:
    root = jsonc.parse(text)
    secrets = set(_secrets(root.value))
    return _replaced(text, [(each.start, each.end) for each in _scalars(root) if each.scalar in secrets])


def _masked_toml(text: str) -> str:
    secrets = set(_secrets(toml_text.parse(text)))
    return _replaced(text, [span for span, value in toml_text.strings(text) if value in secrets])


def _masked_yaml(text: str) -> str:
    """By their words: settings of ours hold references, and a secret that somebody wrote there stands there plainly."""
    secrets = sorted((each for each in _secrets(parse(text, "").value) if isinstance(each, str)), key=len, reverse=True)
    for each in secrets:
        text = text.replace(each, MASK)
    return text


_SPANS: dict[Kind, Callable[[str], str]] = {"json": _masked_json, "toml": _masked_toml, "yaml": _masked_yaml}


def _replaced(text: str, spans: Iterable[jsonc.Span]) -> str:
    shown: list[str] = []
    at = 0
    for start, end in sorted(spans):
        shown += [text[at:start], MASK]
        at = end
    return "".join([*shown, text[at:]])


def _scalars(node: jsonc.Node) -> Iterator[jsonc.Node]:
    if node.members is not None:
        inside: Iterable[jsonc.Node] = (each.node for each in node.members)
    elif node.items is not None:
        inside = node.items
    else:
        yield node
        return
    for each in inside:
        yield from _scalars(each)


def _secrets(value: Any, name: str = "", *, hidden: bool = False) -> Iterator[Any]:
    """The values in a file that nobody should see."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        yield from _by_place(members)
        for key, each in members.items():
            yield from _secrets(each, key, hidden=hidden or key in _HIDING)
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _secrets(each, name, hidden=hidden)
    elif isinstance(value, str):
        if (value and hidden and not _REFERRING_VALUE.fullmatch(value)) or looks_secret(name, value):
            yield value
    elif hidden and value is not None and not isinstance(value, bool):
        yield value


def _by_place(members: Mapping[str, Any]) -> Iterator[str]:
    """What looks like a secret in the arguments and addresses of what may be a server."""
    words: Sequence[Any] = members["args"] if isinstance(members.get("args"), list) else []
    if isinstance(command := members.get("command"), str) and redact_text(command) != command:
        yield command
    for place in plain_secrets({"command": "", "args": words}):
        yield str(words[int(place.removeprefix("args[").removesuffix("]"))])
    for key in ("url", "httpUrl", "serverUrl"):
        if isinstance(url := members.get(key), str) and plain_secrets({"url": url}):
            yield url
