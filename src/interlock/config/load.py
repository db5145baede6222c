"""Finding, reading and checking the configuration; remembering where each value came from.

File first, then the environment on top of it, then the defaults below. Problems are reported together and in the
order of the file, because a person who has to mend one at a time learns to hate the tool.
"""

import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path as FilePath
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from interlock.config.check import check, did_you_mean
from interlock.config.document import Document, Position, Problem
from interlock.config.paths import Path, dotted
from interlock.config.places import find_file
from interlock.config.tree import Listen, RouteRule, Settings
from interlock.core.lexicon import DEFAULT, Lexicon
from interlock.core.model import HoldTerms
from interlock.core.redact import redact_text
from interlock.core.rules import Rule
from interlock.core.safety import Effect
from interlock.errors import ConfigError

_KEYED = frozenset({"overrides", "args"})
"""Mappings whose keys are the operator's words, so that a complaint is about the key."""
_PREFIX = "INTERLOCK_"
_ENVIRONMENT = "environment "
_KEEP_CASE = frozenset({"env", "headers"})
_DASHED = frozenset({("servers",), ("hold", "clients"), ("lexicon",)})
GIVEN = "given at the start"
"""The origin of what comes from neither file nor environment, but from whoever started the gateway."""
_NOT_SETTINGS = frozenset({"INTERLOCK_CONFIG", "INTERLOCK_DATA_DIR", "INTERLOCK_TOKEN"})


@dataclass(frozen=True, slots=True)
class Config:
    """Checked settings, and the origin of each value that is not a default."""

    settings: Settings
    file: FilePath | None
    origins: Mapping[Path, str]

    def origin(self, path: Path) -> str:
        """Where the value at a path came from: a position, an environment variable, or the defaults."""
        # One word where a list is expected stands at the place of the list.
        of_list = path[:-1] if path and isinstance(path[-1], int) else path
        return self.origins.get(path) or self.origins.get(of_list, "default")

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(_rule(each, self.hold_terms) for each in self.settings.route_rules)

    @property
    def hold_terms(self) -> HoldTerms:
        hold = self.settings.hold
        return HoldTerms(
            approval_timeout=_seconds(hold.approval_timeout),
            approvals_needed=hold.approvals_needed,
            approvers=tuple(hold.approvers),
            max_grant=_seconds(hold.max_grant),
        )

    @property
    def lexicon(self) -> Lexicon:
        return DEFAULT.extended(self.settings.lexicon)


def _seconds(value: timedelta) -> int:
    return math.ceil(value.total_seconds())


def _rule(rule: RouteRule, defaults: HoldTerms) -> Rule:
    timeout, grant = rule.approval_timeout, rule.max_grant
    return Rule(
        id=rule.id,
        effect=Effect.HOLD if rule.requires_approval else rule.effect,
        workspace_id=rule.workspace_id,
        server_id=rule.server_id,
        tool_pattern=tuple(rule.tool_pattern or ()),
        safety_class=frozenset(rule.safety_class or ()),
        operation_type=frozenset(rule.operation_type or ()),
        caller=rule.caller,
        args=tuple(rule.args.items()),
        terms=HoldTerms(
            approval_timeout=defaults.approval_timeout if timeout is None else _seconds(timeout),
            approvals_needed=rule.approvals_needed or defaults.approvals_needed,
            approvers=defaults.approvers if rule.approvers is None else tuple(rule.approvers),
            four_eyes=rule.four_eyes,
            max_grant=defaults.max_grant if grant is None else _seconds(grant),
        ),
        priority=rule.priority,
        auth_scope_id=rule.auth_scope_id,
    )


def with_listen(config: Config, host: str | None, port: int | None) -> Config:
    """The configuration with the address of the command line, which comes before file and environment."""
    listen = config.settings.listen
    given = {"host": listen.host if host is None else host, "port": listen.port if port is None else port}
    try:
        changed = Listen.model_validate(given)
    except ValidationError as error:
        raise ConfigError(tuple(f"--{each['loc'][0]}: {each['msg']}" for each in error.errors())) from None
    told = {("listen", name): GIVEN for name, value in given.items() if value != getattr(listen, name)}
    settings = config.settings.model_copy(update={"listen": changed})
    return replace(config, settings=settings, origins={**config.origins, **told})


def load(explicit: str | None = None, environ: Mapping[str, str] | None = None) -> Config:
    """Read and check the configuration, or raise ConfigError with every problem found."""
    environment = os.environ if environ is None else environ
    file = find_file(explicit, environment)
    return _checked(Document(value={}) if file is None else _read(file), file, environment)


def load_text(text: str, where: str, environ: Mapping[str, str] | None = None) -> Config:
    """The same for a text that is in no file yet, and that `where` names."""
    return _checked(_parse(text, where), None, os.environ if environ is None else environ)


def _checked(document: Document, file: FilePath | None, environment: Mapping[str, str]) -> Config:
    _stop_on(document.problems)
    value: object = {} if document.value is None else document.value
    if not isinstance(value, dict):
        raise ConfigError(
            (f"{document.values[()]}: the file must be a mapping of settings, such as 'posture: guarded'",)
        )
    tree = cast("dict[str, Any]", value)
    origins: dict[Path, str] = {path: str(document.values[path]) for path in stated((), tree)}
    problems = list(_apply_environment(tree, environment, origins))
    try:
        settings = Settings.model_validate(tree)
    except ValidationError as error:
        problems += [_told(each, document, origins) for each in error.errors()]
        settings = None
    _stop_on(problems)
    assert settings is not None  # noqa: S101 - a failed validation has left above
    complaints = [(path, text, len(path) > 1 and path[-2] in _KEYED) for path, text in check(settings)]
    _stop_on([Problem(_place(path, document, origins, key=key), text) for path, text, key in complaints])
    return Config(settings, file, origins)


def stated(path: Path, value: object) -> Iterator[Path]:
    """The paths of the values that a definition really states; a mapping or list is stated by what is in it."""
    if isinstance(value, dict) and value:
        for key, each in cast("dict[str, Any]", value).items():
            yield from stated((*path, key), each)
    elif isinstance(value, list) and value:
        for at, each in enumerate(cast("list[Any]", value)):
            yield from stated((*path, at), each)
    elif path:
        yield path


def _read(file: FilePath) -> Document:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError((f"{file}: is not UTF-8 text",)) from None
    except OSError as error:
        raise ConfigError((f"{file}: cannot be read: {error.strerror}",)) from None
    return _parse(text, str(file))


def _parse(text: str, where: str) -> Document:
    # Late, because the YAML library costs a tenth of a second and most commands run without a file.
    from interlock.config.source import parse

    return parse(text, where)


def _stop_on(problems: list[Problem]) -> None:
    if problems:
        told = [redact_text(str(problem)) for problem in sorted(problems, key=_in_order)]
        raise ConfigError(tuple(dict.fromkeys(told)))


def _in_order(problem: Problem) -> tuple[int, ...]:
    """Line and column, as numbers; what stands in no file comes first."""
    return tuple(int(each) for each in problem.at.split(":")[-2:] if each.isdecimal())


# Environment ----------------------------------------------------------------------------------------------------


def _apply_environment(tree: dict[str, Any], environ: Mapping[str, str], origins: dict[Path, str]) -> Iterator[Problem]:
    for name in sorted(environ):
        if not name.startswith(_PREFIX) or name in _NOT_SETTINGS:
            continue
        path = _path_of(name, tree)
        parsed = _read_variable(name, environ[name], path)
        if parsed.problems:
            yield Problem(name, parsed.problems[0].text)
            continue
        if path[0] not in Settings.model_fields:
            yield Problem(name, f"unknown setting{_nearest_variable(name)}")
            continue
        if _put(tree, path, parsed.value):
            for stale in [each for each in origins if each[: len(path)] == path]:
                del origins[stale]
            paths = list(stated(path, parsed.value)) or [path]
            origins.update(dict.fromkeys(paths, f"{_ENVIRONMENT}{name}"))
        else:
            yield Problem(name, "goes below a setting that is no mapping")


def _read_variable(name: str, text: str, path: tuple[str, ...]) -> Document:
    """A variable's value: YAML where it can only be meant so, otherwise the text as it is."""
    free_text = len(path) > 2 and path[-2] in _KEEP_CASE
    if free_text or not _LOOKS_LIKE_YAML.fullmatch(text):
        return Document(value=text)
    return _parse(text, name)


_LOOKS_LIKE_YAML = re.compile(r"""\s*([\[{"'].*|[-+.]?[0-9][0-9a-fox_.e+-]*|true|false|null|~|)\s*""", re.DOTALL | re.I)


def _nearest_variable(name: str) -> str:
    """A did-you-mean among the names of all settings; the prefix is left out, because all share it."""
    known = {each.removeprefix(_PREFIX) for each in _NOT_SETTINGS} | set(_variables(Settings))
    return did_you_mean(name.removeprefix(_PREFIX), known).replace("'", f"'{_PREFIX}", 1)


def _variables(model: type[BaseModel]) -> Iterator[str]:
    for key, field in model.model_fields.items():
        yield key.upper()
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from (f"{key.upper()}__{each}" for each in _variables(inner))


def _path_of(name: str, tree: dict[str, Any]) -> tuple[str, ...]:
    """`INTERLOCK_HOLD__ANSWER_AFTER` → hold, answer_after. Names below `env` and `headers` keep their case."""
    path: list[str] = []
    here: Any = tree
    for part in name.removeprefix(_PREFIX).split("__"):
        key = part if len(path) > 1 and path[-1] in _KEEP_CASE else part.lower()
        if isinstance(here, dict):
            members = cast("dict[str, Any]", here)
            key = next((each for each in members if each.replace("-", "_").lower() == key.lower()), key)
            here = members.get(key)
        if tuple(path) in _DASHED and here is None:
            # Ids are written with dashes, which no variable name can hold.
            key = key.replace("_", "-")
        path.append(key)
    return tuple(path)


def _put(tree: dict[str, Any], path: tuple[str, ...], value: object) -> bool:
    here: Any = tree
    for key in path[:-1]:
        members = cast("dict[str, Any]", here)
        if members.get(key) is None:
            members[key] = {}
        here = members[key]
        if not isinstance(here, dict):
            return False
    here[path[-1]] = value
    return True


# Telling what is wrong ------------------------------------------------------------------------------------------


def _place(path: Path, document: Document, origins: Mapping[Path, str], *, key: bool = False) -> str:
    """Where the thing at a path stands, or the nearest thing around it."""
    for end in range(len(path), -1, -1):
        part = path[:end]
        told = (each for at, each in origins.items() if end and at[:end] == part)
        variable = next((each for each in told if each.startswith(_ENVIRONMENT)), None)
        if variable is not None:
            return variable.removeprefix(_ENVIRONMENT)
        position: Position | None = document.values.get(part)
        if key and end == len(path):
            position = document.keys.get(part, position)
        if position is not None:
            return str(position)
    return "settings"


def _told(error: ErrorDetails, document: Document, origins: Mapping[Path, str]) -> Problem:
    """One pydantic error in our words, at its place."""
    path = tuple(each for each in error["loc"] if each != "[key]")
    of_key = "[key]" in error["loc"]
    name = dotted(path)
    given = error.get("input")
    context = error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden":
            text = f"unknown key '{path[-1]}'{did_you_mean(str(path[-1]), _keys_beside(path))}"
            return Problem(_place(path, document, origins, key=True), text)
        case "missing":
            text = f"'{path[-1]}' is missing in {dotted(path[:-1])}"
        case "enum" | "literal_error":
            expected = str(context.get("expected", "")).replace("'", "")
            known = [each.strip() for each in expected.replace(" or ", ",").split(",")]
            text = f"{name} is {_shown(path, given)}; it must be {expected}{did_you_mean(str(given), known)}"
        case "value_error":
            text = f"{name} is {_shown(path, given)}; it {context.get('error')}"
        case "greater_than_equal" | "less_than_equal":
            text = f"{name} is {_shown(path, given)}; it must be {_limit(context)}"
        case _:
            # A text where something else belongs may be anything, a secret among them.
            shown = "a text" if isinstance(given, str) and given else _shown(path, given)
            text = f"{name} is {shown}; {_KINDS.get(error['type'], error['msg'])}"
    return Problem(_place(path, document, origins, key=of_key), text)


def _limit(context: Mapping[str, object]) -> str:
    return f"at least {context['ge']}" if "ge" in context else f"at most {context['le']}"


_KINDS = {
    "int_type": "it must be a whole number",
    "bool_type": "it must be true or false",
    "string_type": "it must be a text",
    "list_type": "it must be a list",
    "dict_type": "it must be a mapping",
    "model_type": "it must be a mapping",
    "string_too_short": "it must not be empty",
    "too_short": "it must not be empty; leave it out to mean any",
}


_MAY_BE_SECRET = frozenset({"env", "headers", "secret", "store", "url", "jwks_url", "endpoint", "auth_scopes", "args"})


def _shown(path: Path, value: object) -> str:
    """A value as an error shows it. What may hold a secret is not printed."""
    if not _MAY_BE_SECRET.isdisjoint(path):
        return "not usable"
    match value:
        case None:
            return "empty"
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case str():
            return f"'{redact_text(value)[:60]}'"
        case list():
            return "a list"
        case _:
            return "a mapping"


def _keys_beside(path: Path) -> list[str]:
    """The keys that are known where an unknown one stood."""
    model: type[BaseModel] = Settings
    for key in path[:-1]:
        field = model.model_fields.get(str(key))
        inner = None if field is None else _model_inside(field.annotation)
        model = inner or model
    return list(model.model_fields)


def _model_inside(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type):
        return annotation if issubclass(annotation, BaseModel) else None
    return next((found for part in get_args(annotation) if (found := _model_inside(part)) is not None), None)
