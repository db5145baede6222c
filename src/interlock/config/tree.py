"""The settings tree as pydantic models: every key, its type, its default.

Scalars are strict: `port: "7373"` is a mistake and is told as one. The models check what one value can be checked for
by itself; what needs two values at once (a rule naming a server) is checked in `check`.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    WithJsonSchema,
)
from pydantic.json_schema import GenerateJsonSchema

from interlock.core.intent import IntentMode
from interlock.core.model import OperationType
from interlock.core.safety import Effect, Posture, SafetyClass

ID = re.compile(r"[a-z0-9][a-z0-9-]*")
_DURATION = re.compile(r"([0-9]+)(ms|s|m|h|d)?")
_SIZE = re.compile(r"([0-9]{1,15})(B|KiB|MiB|GiB)?")
_REFERENCE = re.compile(r"\$\{([^}:]*)(:?)([^}]*)\}?")
_RULE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_URL = re.compile(r"https?://\S+")
_LONGEST = timedelta(days=3650)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_BYTES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def parse_duration(value: object) -> timedelta:
    """`300` and `"300"` are seconds; `"100ms"`, `"50s"`, `"15m"`, `"2h"`, `"30d"` say their unit."""
    if isinstance(value, timedelta):
        return value
    found = _DURATION.fullmatch(str(value)) if isinstance(value, int | str) and not isinstance(value, bool) else None
    if found is None:
        raise ValueError('must be a duration such as 300 (seconds), "100ms", "50s", "15m", "2h" or "30d", not negative')
    amount, unit = (int(found[1]) if len(found[1].lstrip("0")) < 15 else 10**15), found[2] or "s"
    milliseconds = amount if unit == "ms" else amount * _SECONDS[unit] * 1000
    if milliseconds > _LONGEST / timedelta(milliseconds=1):
        raise ValueError("must not be longer than ten years")
    return timedelta(milliseconds=milliseconds)


def format_duration(value: timedelta) -> str:
    """The shortest text that parses back to the same duration."""
    if value % timedelta(seconds=1):
        return f"{value // timedelta(milliseconds=1)}ms"
    seconds = value // timedelta(seconds=1)
    for unit in ("d", "h", "m"):
        if seconds and seconds % _SECONDS[unit] == 0:
            return f"{seconds // _SECONDS[unit]}{unit}"
    return f"{seconds}s"


def _at_least_a_second(value: timedelta) -> timedelta:
    if value < timedelta(seconds=1):
        raise ValueError("must be at least one second")
    return value


def _duration_or_never(value: object) -> "timedelta | Literal['never']":
    if value == "never":
        return "never"
    try:
        return parse_duration(value)
    except ValueError as problem:
        raise ValueError(f"{problem}; or never") from None


def _with_default_clients(value: "Mapping[str, timedelta | Literal['never']]") -> "dict[str, Any]":
    """Naming one client must not silently take the others' patience away."""
    return {**DEFAULT_CLIENTS, **value}


def parse_size(value: object) -> int:
    """`4194304`, `"4MiB"`, `"512KiB"`."""
    found = _SIZE.fullmatch(str(value)) if isinstance(value, int | str) and not isinstance(value, bool) else None
    if found is None:
        raise ValueError('must be a size such as 4194304 (bytes), "512KiB" or "4MiB"')
    size = int(found[1]) * _BYTES[found[2] or "B"]
    if not _BYTES["KiB"] <= size <= _BYTES["GiB"]:
        raise ValueError("must be between 1KiB and 1GiB")
    return size


def _one_or_many(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _check_id(value: str) -> str:
    if not ID.fullmatch(value):
        raise ValueError("must be lower-case letters, digits and '-', beginning with a letter or digit")
    return value


def _check_references(value: str) -> str:
    for found in _REFERENCE.finditer(value):
        if (
            found[1] not in ("env", "file", "keyring")
            or found[3] != found[3].strip()
            or not found[3]
            or not found[0].endswith("}")
        ):
            raise ValueError("has a malformed reference; write ${env:NAME}, ${file:PATH} or ${keyring:NAME}")
    return value


def _check_store(value: str) -> str:
    if value != "sqlite" and not value.startswith(("postgresql://", "postgres://")):
        raise ValueError("must be 'sqlite' or an address that begins with postgresql://")
    return value


def _check_url(value: str) -> str:
    if not _URL.fullmatch(value) or not urlsplit(value).hostname:
        raise ValueError("must begin with http:// or https:// and name a host")
    return value


def _check_keys_url(value: str) -> str:
    """Keys are believed, so nobody on the way may exchange them."""
    parts = urlsplit(_check_url(value))
    if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise ValueError("must begin with https://; http:// is only for this machine itself")
    return value


def _check_collector_url(value: str) -> str:
    """The address is told when nobody answers there, so it must not hold a secret. Not even where that stands behind
    a '/' or '#' of a password, which end what is taken for the host."""
    if "@" in _check_url(value):
        raise ValueError("must hold no user and password, and no '@'; what the collector asks for goes into 'headers'")
    return value


def _check_rule_id(value: str) -> str:
    # A colon is kept for the grounds that are no rules, such as posture:guarded.
    if not _RULE_ID.fullmatch(value):
        raise ValueError("must be letters, digits, '.', '_' and '-', beginning with a letter or digit")
    return value


DEFAULT_CLIENTS: "dict[str, timedelta | Literal['never']]" = {"claude-code": timedelta(seconds=280)}
_DURATION_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": f"^{_DURATION.pattern}$"}]
}
_SIZE_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": f"^{_SIZE.pattern}$"}]
}

_WAIT_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^0*[1-9][0-9]*(ms|s|m|h|d)?$"}]
}

_KEYS_URL = r"^(https://[^/ ]+|http://(127\.0\.0\.1|localhost|\[::1\])(:[0-9]+)?(/|$))"

Duration: TypeAlias = Annotated[timedelta, BeforeValidator(parse_duration), WithJsonSchema(_DURATION_SCHEMA)]
Wait: TypeAlias = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    AfterValidator(_at_least_a_second),
    WithJsonSchema(_WAIT_SCHEMA),
]
DurationOrNever: TypeAlias = Annotated[
    timedelta | Literal["never"],
    BeforeValidator(_duration_or_never),
    WithJsonSchema({"anyOf": [*_DURATION_SCHEMA["anyOf"], {"const": "never"}]}),
]
Size: TypeAlias = Annotated[StrictInt, BeforeValidator(parse_size), WithJsonSchema(_SIZE_SCHEMA)]
Id: TypeAlias = Annotated[
    StrictStr, AfterValidator(_check_id), WithJsonSchema({"type": "string", "pattern": f"^{ID.pattern}$"})
]
RuleId: TypeAlias = Annotated[
    StrictStr, AfterValidator(_check_rule_id), WithJsonSchema({"type": "string", "pattern": f"^{_RULE_ID.pattern}$"})
]
Text: TypeAlias = Annotated[StrictStr, Field(min_length=1)]
Referring: TypeAlias = Annotated[StrictStr, AfterValidator(_check_references)]
Url: TypeAlias = Annotated[
    StrictStr, AfterValidator(_check_url), WithJsonSchema({"type": "string", "pattern": "^https?://[^/ ]+"})
]
KeysUrl: TypeAlias = Annotated[
    StrictStr, AfterValidator(_check_keys_url), WithJsonSchema({"type": "string", "pattern": _KEYS_URL})
]
CollectorUrl: TypeAlias = Annotated[
    StrictStr,
    AfterValidator(_check_collector_url),
    WithJsonSchema({"type": "string", "pattern": "^https?://[^/ @][^@]*$"}),
]
Store: TypeAlias = Annotated[
    StrictStr,
    AfterValidator(_check_store),
    AfterValidator(_check_references),
    WithJsonSchema({"type": "string", "pattern": "^(sqlite$|postgres(ql)?://)"}),
]
Count: TypeAlias = Annotated[StrictInt, Field(ge=1)]


def _some(words: "type[SafetyClass] | type[OperationType] | None" = None, at_least: int = 1) -> WithJsonSchema:
    """The schema of one word or a list of words, of any text or of an enumeration."""
    word: dict[str, Any] = {"type": "string", "minLength": 1}
    if words is not None:
        word = {"enum": [each.value for each in words]}
    return WithJsonSchema({"anyOf": [word, {"type": "array", "items": word, "minItems": at_least}]})


Texts: TypeAlias = Annotated[list[Text], BeforeValidator(_one_or_many), Field(min_length=1), _some()]
Classes: TypeAlias = Annotated[
    list[SafetyClass], BeforeValidator(_one_or_many), Field(min_length=1), _some(SafetyClass)
]
Operations: TypeAlias = Annotated[
    list[OperationType], BeforeValidator(_one_or_many), Field(min_length=1), _some(OperationType)
]
Approvers: TypeAlias = Annotated[list[Text], BeforeValidator(_one_or_many), _some(at_least=0)]
"""None in the list means anyone with the approver role."""
Expose: TypeAlias = Literal["search", "direct", "both"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Listen(_Section):
    host: Text = "127.0.0.1"
    port: Annotated[StrictInt, Field(ge=0, le=65535)] = 7373


class IntentDeclaration(_Section):
    mode: IntentMode = IntentMode.REQUIRED
    strict_server_validation: StrictBool = True


class HoldSection(_Section):
    answer_after: DurationOrNever = timedelta(seconds=50)
    clients: Annotated[dict[str, DurationOrNever], AfterValidator(_with_default_clients)] = Field(
        default={**DEFAULT_CLIENTS}
    )
    use_within: Wait = timedelta(minutes=15)
    approval_timeout: Wait = timedelta(seconds=300)
    approvals_needed: Count = 1
    approvers: Approvers = Field(default=[])
    max_grant: Duration = timedelta(minutes=15)
    ask_justification: Literal["retry", "elicit"] = "retry"
    max_pending_per_caller: Count = 20


class Record(_Section):
    wait: Literal["writes", "all"] = "writes"
    keep_days: Count | None = 90
    anchor: Text | None = None


class Limits(_Section):
    calls_per_minute: Count | None = None
    in_flight_per_caller: Count = 100
    body: Size = 4 * 1024**2


class Results(_Section):
    on_injection: Literal["label", "block"] = "label"


class Server(_Section):
    command: Text | None = None
    args: list[StrictStr] = Field(default=[])
    env: dict[str, Referring] = Field(default={})
    cwd: Text | None = None
    url: Url | None = None
    headers: dict[str, Referring] = Field(default={})
    namespace: Id | None = None
    trusted: StrictBool = False
    enabled: StrictBool = True
    expose: Expose | None = None
    posture: Posture | None = None
    call_timeout: Wait = timedelta(seconds=120)
    auth_scope_id: Text | None = None
    max_concurrent: Count | None = None
    sessions: Literal["shared", "per-caller"] = "shared"


class AuthScope(_Section):
    env: dict[str, Referring] = Field(default={})
    headers: dict[str, Referring] = Field(default={})


class Workspace(_Section):
    id: Text
    name: Text | None = None
    path: Text | None = None
    posture: Posture | None = None


class RouteRule(_Section):
    id: RuleId
    workspace_id: Text | None = None
    server_id: Text | None = None
    tool_pattern: Texts | None = None
    safety_class: Classes | None = None
    operation_type: Operations | None = None
    caller: Text | None = None
    args: dict[str, Any] = Field(default={})
    effect: Effect | None = None
    requires_approval: StrictBool | None = None
    approval_timeout: Wait | None = None
    approvals_needed: Count | None = None
    approvers: Approvers | None = None
    four_eyes: StrictBool = False
    max_grant: Duration | None = None
    priority: StrictInt = 0
    auth_scope_id: Text | None = None


class Jwt(_Section):
    issuer: Text
    audience: Text
    jwks_url: KeysUrl


class Identity(_Section):
    jwt: Jwt | None = None


class Webhook(_Section):
    url: Url
    secret: Referring | None = None


class Notices(_Section):
    webhooks: list[Webhook] = Field(default=[])
    command: Text | None = None


class Lab(_Section):
    execute_destructive: StrictBool = False
    max_calls: Count | None = None
    concurrency: Count = 2
    call_delay: Duration = timedelta(milliseconds=100)


class Telemetry(_Section):
    endpoint: CollectorUrl | None = None
    headers: dict[str, Referring] = Field(default={})
    propagate: StrictBool = False


class Settings(_Section):
    """Everything `interlock.yaml` can say."""

    listen: Listen = Field(default=Listen())
    store: Store = "sqlite"
    posture: Posture = Posture.GUARDED
    expose: Expose = "search"
    namespacing: StrictBool = True
    default_workspace: Text | None = None
    intent_declaration: IntentDeclaration = Field(default=IntentDeclaration())
    hold: HoldSection = Field(default=HoldSection())
    record: Record = Field(default=Record())
    limits: Limits = Field(default=Limits())
    results: Results = Field(default=Results())
    servers: dict[Id, Server] = Field(default={})
    auth_scopes: dict[Text, AuthScope] = Field(default={})
    workspaces: list[Workspace] = Field(default=[])
    route_rules: list[RouteRule] = Field(default=[])
    overrides: dict[str, SafetyClass] = Field(default={})
    lexicon: dict[SafetyClass, list[Text]] = Field(default={})
    identity: Identity = Field(default=Identity())
    notices: Notices = Field(default=Notices())
    telemetry: Telemetry = Field(default=Telemetry())
    lab: Lab = Field(default=Lab())


class _SchemaWriter(GenerateJsonSchema):
    """Writes durations as the texts that the file itself would hold."""

    def encode_default(self, dft: Any) -> Any:
        if isinstance(dft, BaseModel):
            return self.encode_default(dft.model_dump())
        if isinstance(dft, dict):
            return {key: self.encode_default(value) for key, value in cast("dict[str, Any]", dft).items()}
        return format_duration(dft) if isinstance(dft, timedelta) else super().encode_default(dft)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of `interlock.yaml`, for editors and for checking files elsewhere."""
    from interlock.config.meanings import MEANINGS

    schema = Settings.model_json_schema(schema_generator=_SchemaWriter)
    for section, each in (("Settings", schema), *schema["$defs"].items()):
        for key, member in each["properties"].items() if "properties" in each else ():
            member["description"] = MEANINGS[section][key]
            if "patternProperties" in member:
                member["additionalProperties"] = False
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "interlock.yaml"}
