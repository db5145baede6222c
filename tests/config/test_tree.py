"""What one value by itself can be: durations, sizes, defaults, and the JSON Schema that editors use."""

from datetime import timedelta
from typing import Any

import jsonschema_rs
import pytest
from pydantic import ValidationError

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
        (timedelta(seconds=7), 7),
    ],
)
def test_a_duration_is_a_number_of_seconds_or_says_its_unit(given: object, seconds: float) -> None:
    assert parse_duration(given) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "given",
    [-1, "-1", "-5s", 1.5, "1.5s", "", "s", "5 s", " 5s", "5s ", "5S", "5w", "5sec", "never", True, None, [], {}],
)
def test_what_is_no_duration_is_refused_with_examples(given: object) -> None:
    with pytest.raises(ValueError, match=r'^must be a duration such as 300 \(seconds\), "100ms", "50s", "15m", "2h"'):
        parse_duration(given)


def test_a_duration_of_thousands_of_years_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^is too long$"):
        parse_duration(10**13)


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
        (0, 0),
        ("10B", 10),
        ("512KiB", 524288),
        ("4MiB", 4194304),
        ("1GiB", 1073741824),
    ],
)
def test_a_size_is_a_number_of_bytes_or_says_its_unit(given: object, size: int) -> None:
    assert parse_size(given) == size


@pytest.mark.parametrize("given", [-1, "-4MiB", "4MB", "4mib", "4 MiB", "1.5MiB", 4.0, "", "MiB", True, None, []])
def test_what_is_no_size_is_refused_with_examples(given: object) -> None:
    with pytest.raises(ValueError, match=r'^must be a size such as 4194304 \(bytes\), "512KiB" or "4MiB"$'):
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


@pytest.mark.parametrize("port", [0, 65535])
def test_a_port_may_be_anything_that_a_port_can_be(port: int) -> None:
    assert Settings.model_validate({"listen": {"port": port}}).listen.port == port


@pytest.mark.parametrize("store", ["sqlite", "postgresql://db/interlock", "postgres://db/interlock"])
def test_a_store_is_sqlite_or_postgresql(store: str) -> None:
    assert Settings.model_validate({"store": store}).store == store


@pytest.mark.parametrize(
    "value", ["${env:GH}", "${file:/run/gh}", "${keyring:gh}", "Bearer ${env:GH}", "${env:A}${env:B}", "$GH", ""]
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
        "route_rules: [{id: a, tool_pattern: [x, y], approvers: [humans]}]",
    ],
)
def test_the_schema_accepts_every_way_to_write_a_value(validator: jsonschema_rs.Validator, text: str) -> None:
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
        "hold: {approvals_needed: 0}",
        "hold: {approval_timeout: never}",
        "limits: {body: 4MB}",
        "servers: [github]",
        "servers: {github: {comand: npx}}",
        "servers: {github: {command: npx, trusted: 1}}",
        "servers: {github: {command: npx, env: {TOKEN: 5}}}",
        "workspaces: [{name: Production}]",
        "route_rules: [{effect: hold}]",
        "route_rules: [{id: a, effect: ask}]",
        "route_rules: [{id: a, tool_patern: x}]",
        "route_rules: [{id: a, safety_class: [harmless]}]",
        "overrides: {'github:x': harmless}",
        "lexicon: {harmless: [x]}",
        "identity: {jwt: {issuer: x}}",
        "notices: {webhooks: [{secret: x}]}",
        "[]",
        "posture",
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(validator: jsonschema_rs.Validator, text: str) -> None:
    assert not validator.is_valid(plain(text))
