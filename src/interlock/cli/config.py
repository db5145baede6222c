"""`interlock config`: what is configured, where each value came from, whether it is sound.

Secrets are never printed: a value below `env`, `headers` or `secret` is shown only if it is a pure reference.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from interlock.cli.command import Values, Verb, add_json
from interlock.cli.inputs import load_config
from interlock.cli.render import counted, print_json, print_lines, print_table
from interlock.config.paths import Path, dotted
from interlock.core.model import Json
from interlock.core.redact import is_secret_key, redact_text
from interlock.errors import Exit

if TYPE_CHECKING:
    from interlock.config.load import Config

_SECRET_PARENTS = frozenset({"env", "headers"})
_PURE_REFERENCE = re.compile(r"\$\{(env|file|keyring):[^}]+\}")


def shown_settings(config: "Config") -> Json:
    """All settings as JSON that may be printed."""
    return _shown((), config.settings.model_dump())


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


def _leaves(path: Path, value: Json) -> Iterator[tuple[Path, str]]:
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves((*path, key), each)
    elif isinstance(value, list) and value:
        for at, each in enumerate(value):
            yield from _leaves((*path, at), each)
    else:
        yield path, value if isinstance(value, str) else json.dumps(value)


def _show(values: Values) -> Exit:
    config = load_config(values)
    settings = shown_settings(config)
    leaves = list(_leaves((), settings))
    if values.json:
        origins: dict[str, Json] = {dotted(path): config.origin(path) for path, _ in leaves}
        print_json(
            {"file": None if config.file is None else str(config.file), "settings": settings, "origins": origins}
        )
    else:
        print_table(("SETTING", "VALUE", "FROM"), ((dotted(path), text, config.origin(path)) for path, text in leaves))
    return Exit.OK


def _validate(values: Values) -> Exit:
    config = load_config(values)
    settings = config.settings
    file = None if config.file is None else str(config.file)
    counts: dict[str, Json] = {"servers": len(settings.servers), "rules": len(settings.route_rules)}
    if values.json:
        print_json({"valid": True, "file": file, **counts})
    else:
        where = "No configuration file was found; the defaults are" if file is None else f"{file} is"
        servers, rules = counted(len(settings.servers), "server"), counted(len(settings.route_rules), "rule")
        print_lines([f"{where} valid: {servers}, {rules}."])
    return Exit.OK


def _schema(values: Values) -> Exit:
    from interlock.config.tree import json_schema

    print_json(json_schema())
    return Exit.OK


VERBS = (
    Verb(
        "show",
        "Show every setting, its value and where it came from. Secrets are not printed.",
        add_json,
        _show,
        ("interlock config show", "INTERLOCK_POSTURE=strict interlock config show --json"),
    ),
    Verb(
        "validate",
        "Check the configuration. Exit 2 with every problem and its position.",
        add_json,
        _validate,
        ("interlock config validate", "interlock config validate --config team.yaml"),
    ),
    Verb(
        "schema",
        "Print the JSON Schema of interlock.yaml, for your editor.",
        add_json,
        _schema,
        ("interlock config schema > interlock.schema.json",),
    ),
)
