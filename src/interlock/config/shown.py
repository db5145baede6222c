"""What may be seen of the settings in force: every value with where it came from, and no secret.

The command line and REST show the same, so what is hidden is decided in one place. A value below `env`, `headers` or
anything else that promises a secret is shown only if it is a pure reference. This module refuses to resolve one.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from interlock.config.paths import Path, dotted
from interlock.core.model import Json
from interlock.core.redact import is_secret_key, redact_text

if TYPE_CHECKING:
    from interlock.config.load import Config

_SECRET_PARENTS = frozenset({"env", "headers"})
_PURE_REFERENCE = re.compile(r"\$\{(env|file|keyring):[^}]+\}")


def shown_settings(config: "Config") -> Json:
    """All settings as JSON that may be printed."""
    return _shown((), config.settings.model_dump())


def effective(config: "Config") -> list[Json]:
    """Every value in force, and where it came from."""
    return [
        {"setting": dotted(path), "value": value, "from": config.origin(path)}
        for path, value in leaves(shown_settings(config))
    ]


def leaves(settings: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Every single value with its path; a mapping or a list is one only when it is empty."""
    if isinstance(settings, dict) and settings:
        for key, each in settings.items():
            yield from leaves(each, (*path, key))
    elif isinstance(settings, list) and settings:
        for at, each in enumerate(settings):
            yield from leaves(each, (*path, at))
    else:
        yield path, settings


def _shown(path: Path, value: Any) -> Json:
    if isinstance(value, Mapping):
        members = cast("Mapping[Any, Any]", value)
        return {str(key): _shown((*path, str(key)), each) for key, each in members.items()}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [
            _shown((*path, *(("secret",) if at and _promises_secret(items[at - 1]) else ()), at), each)
            for at, each in enumerate(items)
        ]
    if isinstance(value, timedelta):
        from interlock.config.tree import format_duration

        return format_duration(value)
    if isinstance(value, str):
        return _shown_text(path, str(value))
    return value


def _promises_secret(word: object) -> bool:
    """Whether the next word of a command line is a secret: `--token x`."""
    return isinstance(word, str) and word.startswith("-") and "=" not in word and is_secret_key(word)


def _shown_text(path: Path, text: str) -> str:
    named = [step for step in path if isinstance(step, str)]
    secret = any(map(is_secret_key, named)) or not _SECRET_PARENTS.isdisjoint(path[:-1])
    if secret and not _PURE_REFERENCE.fullmatch(text):
        return "[redacted]"
    return redact_text(text)
