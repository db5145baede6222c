"""What one value by itself can be: durations, sizes, defaults, and the JSON Schema that editors use."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, cast

import jsonschema_rs
import pytest
from pydantic import BaseModel, ValidationError

from interlock.config import tree
from interlock.config.source import parse
from interlock.config.tree import Settings, format_duration, json_schema, parse_duration, parse_size
from tests.config.examples import RULES, SCALARS, SETTINGS

# Durations and sizes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (300, 300),
        ("300", 300),
        (0, 0),
        ("0", 0),
        ("100ms", 0.1),
        ("1500ms", 1.5),
        ("50s", 50),
        ("15m", 900),
        ("2h", 7200),
        ("30d", 2_592_000),
        ("3650d", 315_360_000),
        (315_360_000, 315_360_000),
        ("315360000000ms", 315_360_000),
        (timedelta(seconds=7), 7),
    ],
)
def test_a_duration_is_a_number_of_seconds_or_says_its_unit(given: object, seconds: float) -> None:
    assert parse_duration(given) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "given",
    [
        -1,
        "-1",
        "-5s",
        1.5,
        "1.5s",
        "",
        "s",
        "5 s",
        " 5s",
        "5s ",
        "5S",
        "5w",
        "5sec",
        "٣s",
        "５s",
        "²",
        "never",
        True,
        None,
        [],
        {},
    ],
)
def test_what_is_no_duration_is_refused_with_examples(given: object) -> None:
    with pytest.raises(ValueError, match=r'^must be a duration such as 300 \(seconds\), "100ms", "50s", "15m", "2h"'):
        parse_duration(given)


@pytest.mark.parametrize(
    "given", [315_360_001, "3651d", "315360001s", "315360000001ms", "87601h", 10**13, "9" * 14 + "d", "9" * 5_000 + "s"]
)
def test_a_duration_of_more_than_ten_years_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match=r"^must not be longer than ten years$"):
        parse_duration(given)


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(0), "0s"),
        (timedelta(milliseconds=100), "100ms"),
        (timedelta(milliseconds=1500), "1500ms"),
        (timedelta(seconds=50), "50s"),
        (timedelta(seconds=90), "90s"),
        (timedelta(minutes=15), "15m"),
        (timedelta(seconds=300), "5m"),
        (timedelta(hours=2), "2h"),
        (timedelta(days=30), "30d"),
    ],
)
def test_a_duration_is_written_short_and_reads_back(duration: timedelta, text: str) -> None:
    assert format_duration(duration) == text
    assert parse_duration(text) == duration


@pytest.mark.parametrize(
    ("given", "size"),
    [
        (4194304, 4194304),
        ("4194304", 4194304),
        ("1024B", 1024),
        ("512KiB", 524288),
        ("4MiB", 4194304),
        ("1GiB", 1073741824),
    ],
)
def test_a_size_is_a_number_of_bytes_or_says_its_unit(given: object, size: int) -> None:
    assert parse_size(given) == size


@pytest.mark.parametrize(
    "given", [-1, "-4MiB", "4MB", "4mib", "4 MiB", "1.5MiB", 4.0, "", "MiB", "٤MiB", True, None, []]
)
def test_what_is_no_size_is_refused_with_examples(given: object) -> None:
    with pytest.raises(ValueError, match=r'^must be a size such as 4194304 \(bytes\), "512KiB" or "4MiB"$'):
        parse_size(given)


@pytest.mark.parametrize("given", [0, "1023B", "2GiB"])
def test_a_size_with_which_nothing_would_work_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match=r"^must be between 1KiB and 1GiB$"):
        parse_size(given)


# Defaults -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("listen.host", "127.0.0.1"),
        ("listen.port", 7373),
        ("store", "sqlite"),
        ("posture", "guarded"),
        ("expose", "search"),
        ("namespacing", True),
        ("default_workspace", None),
        ("intent_declaration.mode", "required"),
        ("intent_declaration.strict_server_validation", True),
        ("hold.answer_after", timedelta(seconds=50)),
        ("hold.clients", {"claude-code": timedelta(seconds=280)}),
        ("hold.use_within", timedelta(minutes=15)),
        ("hold.approval_timeout", timedelta(seconds=300)),
        ("hold.approvals_needed", 1),
        ("hold.approvers", []),
        ("hold.max_grant", timedelta(minutes=15)),
        ("hold.ask_justification", "retry"),
        ("hold.max_pending_per_caller", 20),
        ("record.wait", "writes"),
        ("record.keep_days", 90),
        ("limits.calls_per_minute", None),
        ("limits.in_flight_per_caller", 100),
        ("limits.body", 4 * 1024 * 1024),
        ("results.on_injection", "label"),
        ("servers", {}),
        ("auth_scopes", {}),
        ("workspaces", []),
        ("route_rules", []),
        ("overrides", {}),
        ("lexicon", {}),
        ("identity", {"jwt": None}),
        ("notices", {"webhooks": [], "command": None}),
        ("lab.execute_destructive", False),
        ("lab.max_calls", None),
        ("lab.concurrency", 2),
        ("lab.call_delay", timedelta(milliseconds=100)),
    ],
)
def test_a_setting_that_is_left_out_has_its_promised_default(path: str, value: object) -> None:
    found: Any = Settings().model_dump()
    for key in path.split("."):
        found = found[key]
    assert found == value


def test_a_server_is_untrusted_enabled_and_shared_unless_it_says_otherwise() -> None:
    server = Settings.model_validate({"servers": {"github": {"command": "npx"}}}).servers["github"]
    assert server.model_dump() == {
        "command": "npx",
        "args": [],
        "env": {},
        "cwd": None,
        "url": None,
        "headers": {},
        "namespace": None,
        "trusted": False,
        "enabled": True,
        "expose": None,
        "posture": None,
        "call_timeout": timedelta(seconds=120),
        "auth_scope_id": None,
        "max_concurrent": None,
        "sessions": "shared",
    }


def test_a_rule_asks_for_nothing_unless_it_says_so() -> None:
    rule = Settings.model_validate({"route_rules": [{"id": "a"}]}).route_rules[0]
    stated = {name: value for name, value in rule.model_dump().items() if value is not None}
    assert stated == {"id": "a", "args": {}, "four_eyes": False, "priority": 0}


def test_settings_cannot_be_changed_after_they_were_checked() -> None:
    with pytest.raises(ValidationError, match="Instance is frozen"):
        Settings().posture = "open"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("key", ["tool_pattern", "approvers"])
def test_a_single_text_counts_as_a_list_of_one(key: str) -> None:
    rule = Settings.model_validate({"route_rules": [{"id": "a", key: "x"}]}).route_rules[0]
    assert rule.model_dump()[key] == ["x"]


@pytest.mark.parametrize(("key", "word"), [("safety_class", "dangerous"), ("operation_type", "write")])
def test_a_single_word_counts_as_a_list_of_one(key: str, word: str) -> None:
    rule = Settings.model_validate({"route_rules": [{"id": "a", key: word}]}).route_rules[0]
    assert rule.model_dump()[key] == [word]


@pytest.mark.parametrize(
    ("given", "clients"),
    [
        ({}, {"claude-code": timedelta(seconds=280)}),
        ({"cursor": "5s"}, {"claude-code": timedelta(seconds=280), "cursor": timedelta(seconds=5)}),
        ({"claude-code": "60s"}, {"claude-code": timedelta(seconds=60)}),
        ({"claude-code": "never"}, {"claude-code": "never"}),
    ],
)
def test_a_client_that_is_named_does_not_take_away_the_others_patience(
    given: dict[str, str], clients: dict[str, object]
) -> None:
    assert Settings.model_validate({"hold": {"clients": given}}).hold.clients == clients


@pytest.mark.parametrize("name", ["a", "0", "prod-writes", "Prod.Writes_2", "A" * 200])
def test_a_rule_id_is_letters_digits_dots_underscores_and_dashes(name: str) -> None:
    assert Settings.model_validate({"route_rules": [{"id": name}]}).route_rules[0].id == name


@pytest.mark.parametrize("url", ["https://x", "http://127.0.0.1:8080/mcp?x=1#y", "https://user:pw@host/", "https://…"])
def test_an_address_names_a_host(url: str) -> None:
    assert Settings.model_validate({"servers": {"a": {"url": url}}}).servers["a"].url == url


@pytest.mark.parametrize("port", [0, 65535])
def test_a_port_may_be_anything_that_a_port_can_be(port: int) -> None:
    assert Settings.model_validate({"listen": {"port": port}}).listen.port == port


@pytest.mark.parametrize("store", ["sqlite", "postgresql://db/interlock", "postgres://db/interlock"])
def test_a_store_is_sqlite_or_postgresql(store: str) -> None:
    assert Settings.model_validate({"store": store}).store == store


@pytest.mark.parametrize(
    "value", ["${env:GH}", "${file:/run/gh}", "${keyring:gh}", "Bearer ${env:GH}", "${env:A}${env:B}", "$GH", "{}", ""]
)
def test_a_value_may_hold_references_anywhere(value: str) -> None:
    settings = Settings.model_validate({"auth_scopes": {"gh": {"headers": {"Authorization": value}}}})
    assert settings.auth_scopes["gh"].headers == {"Authorization": value}


# The JSON Schema ------------------------------------------------------------------------------------------------


def plain(text: str) -> Any:
    """A YAML text as the plain JSON that an editor would check."""
    return parse(text, "example").value


@pytest.fixture(scope="module")
def validator() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(json_schema())


def test_the_schema_says_which_draft_it_is_written_in() -> None:
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema_rs.meta.validate(schema)


def test_the_schema_is_called_like_the_file() -> None:
    assert json_schema()["title"] == "interlock.yaml"


def test_the_schema_names_every_setting() -> None:
    assert set(json_schema()["properties"]) == set(Settings.model_fields)


@pytest.mark.parametrize(
    "text", ["{}", SCALARS, SETTINGS, RULES], ids=["nothing", "the scalars", "all settings", "the rules"]
)
def test_the_schema_accepts_the_promised_examples(validator: jsonschema_rs.Validator, text: str) -> None:
    assert [str(error) for error in validator.iter_errors(plain(text))] == []


@pytest.mark.parametrize(
    "text",
    [
        "hold: {answer_after: never, clients: {x: never}}",
        "hold: {answer_after: 50, approval_timeout: 5m}",
        "hold: {approvers: humans}",
        "limits: {body: 4194304}",
        "limits: {body: 512KiB}",
        "record: {keep_days: null}",
        "hold: {approvers: []}",
        "hold: {max_grant: 0}",
        "hold: {max_grant: 0s, answer_after: 0}",
        "hold: {approval_timeout: 1, use_within: 1s}",
        "lab: {call_delay: 0ms}",
        "store: postgres://db/interlock",
        "route_rules: [{id: a, tool_pattern: [x, y], approvers: [humans]}]",
        "route_rules: [{id: a, tool_pattern: x, approvers: humans}]",
        "route_rules: [{id: a, safety_class: [dangerous, unknown], operation_type: [read, write]}]",
        "route_rules: [{id: a, safety_class: dangerous, operation_type: destructive}]",
        "route_rules: [{id: A.b_c-1, approval_timeout: 5m, max_grant: 0}]",
    ],
)
def test_the_schema_accepts_every_way_to_write_a_value(validator: jsonschema_rs.Validator, text: str) -> None:
    Settings.model_validate(plain(text))
    assert validator.is_valid(plain(text))


@pytest.mark.parametrize(
    "text",
    [
        "postur: strict",
        "posture: strickt",
        "listen: {prot: 80}",
        "listen: {port: '80'}",
        "listen: {port: 65536}",
        "listen: []",
        "namespacing: 'yes'",
        "hold: {answer_after: soon}",
        "hold: {answer_after: -5}",
        "hold: {answer_after: 1.5}",
        "hold: {answer_after: ٣s}",
        "hold: {clients: {x: soon}}",
        "hold: {approvals_needed: 0}",
        "hold: {approval_timeout: never}",
        "hold: {approval_timeout: 0}",
        "hold: {approval_timeout: 0s}",
        "hold: {use_within: 0}",
        "hold: {use_within: 00m}",
        "hold: {approvers: ['']}",
        "limits: {body: 4MB}",
        "store: mysql://db",
        "store: sqlite3",
        "servers: [github]",
        "servers: {github: {command: npx, namespace: Git}}",
        "servers: {github: {command: npx, call_timeout: 0}}",
        "servers: {github: {url: 'ftp://x'}}",
        "servers: {github: {url: 'https://'}}",
        "servers: {github: {url: 'https:///mcp'}}",
        "servers: {github: {comand: npx}}",
        "servers: {github: {command: npx, trusted: 1}}",
        "servers: {github: {command: npx, env: {TOKEN: 5}}}",
        "workspaces: [{name: Production}]",
        "route_rules: [{effect: hold}]",
        "route_rules: [{id: a, effect: ask}]",
        "route_rules: [{id: a, tool_patern: x}]",
        "route_rules: [{id: a, safety_class: [harmless]}]",
        "route_rules: [{id: a, safety_class: harmless}]",
        "route_rules: [{id: a, operation_type: look}]",
        "route_rules: [{id: a, safety_class: []}]",
        "route_rules: [{id: a, operation_type: []}]",
        "route_rules: [{id: a, tool_pattern: []}]",
        "route_rules: [{id: a, tool_pattern: ''}]",
        "route_rules: [{id: a, approval_timeout: 0}]",
        "route_rules: [{id: ''}]",
        "route_rules: [{id: a b}]",
        "route_rules: [{id: 'posture:guarded'}]",
        "route_rules: [{id: -a}]",
        "overrides: {'github:x': harmless}",
        "lexicon: {harmless: [x]}",
        "identity: {jwt: {issuer: x}}",
        "identity: {jwt: {issuer: x, audience: y, jwks_url: z}}",
        "telemetry: {endpoint: 'http://u:p@collector'}",
        "telemetry: {endpoint: 'http://u:1/p@collector'}",
        "notices: {webhooks: [{url: x}]}",
        "notices: {webhooks: [{secret: x}]}",
        "[]",
        "posture",
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(validator: jsonschema_rs.Validator, text: str) -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate(plain(text))
    assert not validator.is_valid(plain(text))


def schemas_with_a_default(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every part of a schema that states a default, by its place."""
    if isinstance(schema, dict):
        members = cast("dict[str, Any]", schema)
        if "default" in members:
            yield path, members
        for key, each in members.items():
            if key != "default":
                yield from schemas_with_a_default(each, f"{path}/{key}")
    elif isinstance(schema, list):
        for at, each in enumerate(cast("list[Any]", schema)):
            yield from schemas_with_a_default(each, f"{path}/{at}")


DEFAULTS = dict(schemas_with_a_default(json_schema()))


def test_every_setting_that_may_be_left_out_states_its_default_in_the_schema() -> None:
    assert set(DEFAULTS) >= {f"/properties/{name}" for name in Settings.model_fields}


@pytest.mark.parametrize("path", DEFAULTS)
def test_every_default_is_valid_under_the_schema_it_stands_in(path: str) -> None:
    stands_in = jsonschema_rs.validator_for({**DEFAULTS[path], "$defs": json_schema()["$defs"]})
    assert [str(error) for error in stands_in.iter_errors(DEFAULTS[path]["default"])] == []


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_default_of_a_setting_loads_as_that_default(name: str) -> None:
    assert Settings.model_validate({name: json_schema()["properties"][name]["default"]}) == Settings()


_REQUIRED = {"id": "a", "url": "https://x", "issuer": "i", "audience": "a", "jwks_url": "https://x"}


@pytest.mark.parametrize("model", [tree.Server, tree.AuthScope, tree.Workspace, tree.RouteRule, tree.Webhook, tree.Jwt])
def test_every_default_inside_a_list_or_mapping_loads_as_that_default(model: type[BaseModel]) -> None:
    schema = json_schema()["$defs"][model.__name__]
    required = {key: _REQUIRED[key] for key in schema.get("required", [])}
    defaults = {key: each["default"] for key, each in schema["properties"].items() if "default" in each}
    assert {*required, *defaults} == set(model.model_fields)
    assert model.model_validate({**required, **defaults}) == model.model_validate(required)


@pytest.mark.parametrize(
    ("path", "default"),
    [
        ("/$defs/HoldSection/properties/answer_after", "50s"),
        ("/$defs/HoldSection/properties/clients", {"claude-code": "280s"}),
        ("/$defs/HoldSection/properties/use_within", "15m"),
        ("/$defs/HoldSection/properties/approval_timeout", "5m"),
        ("/$defs/HoldSection/properties/max_grant", "15m"),
        ("/$defs/Server/properties/call_timeout", "2m"),
        ("/$defs/Lab/properties/call_delay", "100ms"),
    ],
)
def test_a_duration_in_the_schema_is_written_as_in_the_file(path: str, default: object) -> None:
    assert DEFAULTS[path]["default"] == default
