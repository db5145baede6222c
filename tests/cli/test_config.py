"""`interlock config`: show without secrets, validate, and the JSON Schema."""

from typing import Any

import jsonschema_rs
import pytest

from interlock.config.tree import json_schema
from tests.cli.running import Interlock, Outcome, configure, run_process
from tests.config.examples import RULES, SETTINGS


def rows(done: Outcome) -> dict[str, tuple[str, str]]:
    """The table of `config show`: setting to value and origin."""
    heading, *lines = done.lines
    assert heading.split() == ["SETTING", "VALUE", "FROM"]
    value_at, from_at = heading.index("VALUE"), heading.index("FROM")
    return {line[:value_at].strip(): (line[value_at:from_at].strip(), line[from_at:].strip()) for line in lines}


# show -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("listen.host", "127.0.0.1"),
        ("listen.port", "7373"),
        ("store", "sqlite"),
        ("posture", "guarded"),
        ("namespacing", "true"),
        ("hold.answer_after", "50s"),
        ("hold.clients.claude-code", "280s"),
        ("hold.approval_timeout", "5m"),
        ("hold.max_grant", "15m"),
        ("record.keep_days", "90"),
        ("servers", "{}"),
        ("route_rules", "[]"),
        ("default_workspace", "null"),
        ("limits.calls_per_minute", "null"),
        ("identity.jwt", "null"),
        ("notices.command", "null"),
        ("lab.max_calls", "null"),
        ("lab.execute_destructive", "false"),
        ("lab.call_delay", "100ms"),
    ],
)
def test_every_default_is_shown_as_one(il: Interlock, setting: str, value: str) -> None:
    done = il("config", "show")
    assert (done.exit, done.err) == (0, "")
    assert rows(done)[setting] == (value, "default")


@pytest.mark.parametrize(
    ("setting", "value", "origin"),
    [
        ("posture", "open", "interlock.yaml:1:10"),
        ("listen.port", "80", "environment INTERLOCK_LISTEN__PORT"),
        ("listen.host", "127.0.0.1", "default"),
        ("hold.answer_after", "never", "interlock.yaml:2:22"),
        ("servers.a.args[1]", "server", "interlock.yaml:3:40"),
        ("servers.a.trusted", "false", "default"),
        ("servers.a.url", "null", "default"),
        ("hold.clients.claude-code", "280s", "default"),
        ("hold.clients.cursor", "5s", "interlock.yaml:2:47"),
        ("record.wait", "all", "environment INTERLOCK_RECORD"),
        ("record.keep_days", "90", "default"),
        ("lab.concurrency", "2", "default"),
        ("servers.a.call_timeout", "90s", "interlock.yaml:3:63"),
        ("route_rules[0].tool_pattern[0]", "a__*", "interlock.yaml:5:19"),
        ("route_rules[0].args.amount.gt", "100", "interlock.yaml:6:25"),
    ],
)
def test_each_setting_is_shown_with_its_origin(
    il: Interlock, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, origin: str
) -> None:
    configure(
        "posture: open\n"
        "hold: {answer_after: never, clients: {cursor: 5s}}\n"
        "servers: {a: {command: npx, args: [-y, server], call_timeout: 90s}}\n"
        "route_rules:\n"
        "  - tool_pattern: a__*\n"
        "    args: {amount: {gt: 100}}\n"
        "    id: r\n"
        "lab: {}\n"
    )
    monkeypatch.setenv("INTERLOCK_LISTEN__PORT", "80")
    monkeypatch.setenv("INTERLOCK_RECORD", "{wait: all}")
    assert rows(il("config", "show"))[setting] == (value, origin)


def test_settings_and_origins_in_json(il: Interlock) -> None:
    configure("posture: strict\nservers: {a: {command: x, call_timeout: 1500ms}}")
    done = il("config", "show", "--json")
    assert (done.exit, done.err) == (0, "")
    assert set(done.json) == {"file", "settings", "origins"}
    assert done.json["file"] == "interlock.yaml"
    assert (done.json["settings"]["posture"], done.json["origins"]["posture"]) == ("strict", "interlock.yaml:1:10")
    assert done.json["settings"]["servers"]["a"]["call_timeout"] == "1500ms"
    assert done.json["origins"]["servers.a.call_timeout"] == "interlock.yaml:2:41"


def test_what_is_not_set_is_null_in_json_too(il: Interlock) -> None:
    done = il("config", "show", "--json")
    assert (done.json["settings"]["lab"]["max_calls"], done.json["origins"]["lab.max_calls"]) == (None, "default")


def test_no_row_of_the_settings_ends_in_blanks(il: Interlock) -> None:
    configure(SETTINGS)
    assert [line for line in il("config", "show").lines if line != line.rstrip()] == []


def test_json_says_that_there_is_no_file(il: Interlock) -> None:
    assert il("config", "show", "--json").json["file"] is None


@pytest.mark.parametrize("text", ["", RULES, SETTINGS], ids=["the defaults", "the rules", "all settings"])
def test_what_is_shown_in_json_is_a_valid_configuration_again(il: Interlock, text: str) -> None:
    configure(text)
    settings = il("config", "show", "--json").json["settings"]
    assert [str(error) for error in jsonschema_rs.validator_for(json_schema()).iter_errors(settings)] == []


_SECRETS = """\
store: postgresql://interlock:hunter2@db/interlock
servers:
  a: {command: x, env: {TOKEN: hunter2, PREFIXED: "hunter2 ${env:A}", NAMED: "${env:A}"}}
  c: {command: x, args: [-y, srv, --token, hunter2, --api-key, hunter2, "--password=hunter2", -v, plain]}
  b: {url: "https://user:hunter2@x/mcp", headers: {Authorization: "Bearer hunter2", X-Named: "${keyring:b}"}}
auth_scopes: {gh: {env: {TOKEN: hunter2}, headers: {Cookie: hunter2, X-Named: "${file:/run/gh}"}}}
notices:
  webhooks: [{url: "https://hooks.slack.com/services/T0/B0/hunter2", secret: hunter2}]
  command: notify --password=hunter2
"""


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["text", "json"])
def test_no_secret_is_shown(il: Interlock, words: tuple[str, ...]) -> None:
    configure(_SECRETS)
    done = il("config", "show", *words)
    assert done.exit == 0
    assert "hunter2" not in done.out + done.err


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("store", "[redacted url-password]db/interlock"),
        ("servers.a.env.TOKEN", "[redacted]"),
        ("servers.a.env.PREFIXED", "[redacted]"),
        ("servers.a.env.NAMED", "${env:A}"),
        ("servers.c.args[1]", "srv"),
        ("servers.c.args[2]", "--token"),
        ("servers.c.args[3]", "[redacted]"),
        ("servers.c.args[4]", "--api-key"),
        ("servers.c.args[5]", "[redacted]"),
        ("servers.c.args[6]", "[redacted flag]"),
        ("servers.c.args[8]", "plain"),
        ("servers.b.url", "[redacted url-password]x/mcp"),
        ("servers.b.headers.Authorization", "[redacted]"),
        ("servers.b.headers.X-Named", "${keyring:b}"),
        ("auth_scopes.gh.env.TOKEN", "[redacted]"),
        ("auth_scopes.gh.headers.X-Named", "${file:/run/gh}"),
        ("notices.webhooks[0].url", "[redacted slack-webhook]"),
        ("notices.webhooks[0].secret", "[redacted]"),
    ],
)
def test_a_secret_is_replaced_and_a_pure_reference_is_shown(il: Interlock, setting: str, value: str) -> None:
    configure(_SECRETS)
    assert rows(il("config", "show"))[setting][0] == value


def test_what_is_hidden_in_a_setting_is_shown(il: Interlock) -> None:
    configure('workspaces: [{id: w, name: "Prod\\e[31m\\u202Euction\\n"}]')
    done = il("config", "show")
    assert rows(done)["workspaces[0].name"][0] == "Prod<U+001B>[31m<U+202E>uction<U+000A>"


# validate -------------------------------------------------------------------------------------------------------


def test_a_sound_file_is_counted(il: Interlock) -> None:
    configure("servers: {a: {command: x}, b: {command: y}}\nroute_rules: [{id: r}, {id: s}]")
    done = il("config", "validate")
    assert (done.exit, done.out, done.err) == (0, "interlock.yaml is valid: 2 servers, 2 rules.\n", "")


def test_no_file_is_sound_too(il: Interlock) -> None:
    done = il("config", "validate")
    assert (done.exit, done.err) == (0, "")
    assert done.out == "No configuration file was found; the defaults are valid: 0 servers, 0 rules.\n"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (None, {"valid": True, "file": None, "servers": 0, "rules": 0}),
        (RULES, {"valid": True, "file": "interlock.yaml", "servers": 1, "rules": 1}),
    ],
)
def test_a_sound_configuration_in_json(il: Interlock, text: str | None, answer: dict[str, Any]) -> None:
    if text is not None:
        configure(text)
    done = il("config", "validate", "--json")
    assert (done.exit, done.json, done.err) == (0, answer, "")


def test_every_problem_of_a_bad_file_is_told_on_a_line_of_its_own(il: Interlock) -> None:
    configure("postur: strict\nlisten: {port: '80'}\n")
    done = il("config", "validate")
    assert (done.exit, done.out) == (2, "")
    assert done.err.splitlines() == [
        "interlock.yaml:1:1: unknown key 'postur'; did you mean 'posture'?",
        "interlock.yaml:2:16: listen.port is a text; it must be a whole number",
        "  Mend the configuration; `interlock config validate` checks it again. Nothing was started.",
    ]


def test_what_is_hidden_in_a_bad_value_is_shown(il: Interlock) -> None:
    configure('posture: "st\\e[31mrict\\u202E"')
    assert il("config", "validate").err.startswith(
        "interlock.yaml:1:10: posture is 'st<U+001B>[31mrict<U+202E>'; it must be "
    )


def test_with_json_every_problem_of_a_bad_file_is_in_a_list(il: Interlock) -> None:
    configure("postur: strict\nlisten: {port: '80'}\n")
    done = il("config", "validate", "--json")
    problems = [
        "interlock.yaml:1:1: unknown key 'postur'; did you mean 'posture'?",
        "interlock.yaml:2:16: listen.port is a text; it must be a whole number",
    ]
    fix = "Mend the configuration; `interlock config validate` checks it again. Nothing was started."
    assert done.exit == 2
    assert done.json == {
        "error": {"code": "BAD_REQUEST", "message": "\n".join(problems), "fix": fix, "problems": problems}
    }


def test_a_misspelt_variable_is_refused(il: Interlock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_POSTUR", "strict")
    done = il("config", "validate")
    assert (done.exit, done.err.splitlines()[0]) == (
        2,
        "INTERLOCK_POSTUR: unknown setting; did you mean 'INTERLOCK_POSTURE'?",
    )


def test_a_process_of_its_own_reads_its_variables() -> None:
    configure("posture: open")
    done = run_process("config", "show", "--json", INTERLOCK_POSTURE="strict")
    assert (done.exit, done.err) == (0, "")
    assert done.json["settings"]["posture"] == "strict"
    assert done.json["origins"]["posture"] == "environment INTERLOCK_POSTURE"


# schema ---------------------------------------------------------------------------------------------------------


def test_the_schema_is_printed_on_stdout_and_nothing_else(il: Interlock) -> None:
    done = il("config", "schema")
    assert (done.exit, done.json, done.err) == (0, json_schema(), "")


def test_the_schema_is_json_with_or_without_asking_for_it(il: Interlock) -> None:
    done = il("config", "schema", "--json")
    assert (done.exit, done.json, done.err) == (0, json_schema(), "")
