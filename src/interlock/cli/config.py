"""`interlock config`: what is configured, where each value came from, whether it is sound.

Secrets are never printed; what counts as one is decided in `interlock.config.shown`.
"""

import json

from interlock.cli.command import Values, Verb, add_json
from interlock.cli.inputs import load_config
from interlock.cli.render import counted, print_json, print_lines, print_table
from interlock.config.paths import dotted
from interlock.config.shown import leaves, shown_settings
from interlock.core.model import Json
from interlock.errors import Exit


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _show(values: Values) -> Exit:
    config = load_config(values)
    settings = shown_settings(config)
    found = list(leaves(settings))
    if values.json:
        origins: dict[str, Json] = {dotted(path): config.origin(path) for path, _ in found}
        print_json(
            {"file": None if config.file is None else str(config.file), "settings": settings, "origins": origins}
        )
    else:
        print_table(
            ("SETTING", "VALUE", "FROM"), ((dotted(path), _text(value), config.origin(path)) for path, value in found)
        )
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
