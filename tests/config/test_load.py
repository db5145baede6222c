"""Finding, reading and checking the configuration, and knowing where each value came from."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from interlock.config.load import load, load_text
from interlock.config.paths import Path as SettingPath
from interlock.config.places import find_file
from interlock.config.tree import Settings
from interlock.core.lexicon import DEFAULT
from interlock.core.model import HoldTerms, OperationType
from interlock.core.rules import Rule
from interlock.core.safety import Effect, Posture, SafetyClass
from interlock.errors import Code, ConfigError
from tests.config.examples import RULES, SCALARS, SETTINGS, config_of, problems_of

_DURATION = 'it must be a duration such as 300 (seconds), "100ms", "50s", "15m", "2h" or "30d", not negative'
_OR_NEVER = f"{_DURATION}; or never"
_TEN_YEARS = "it must not be longer than ten years"
_ANY = "it must not be empty; leave it out to mean any"
_HOST = "it must begin with http:// or https:// and name a host"
_RULE_ID = "it must be letters, digits, '.', '_' and '-', beginning with a letter or digit"
_REFERENCE = "it has a malformed reference; write ${env:NAME}, ${file:PATH} or ${keyring:NAME}"
_ID = "it must be lower-case letters, digits and '-', beginning with a letter or digit"
_CLASSES = "it must be read-only, write-capable, subprocess, dangerous or unknown"
_UNREADABLE = "this cannot be read as the kind of value it claims to be; quote it if it is a text"
_NEVER_SHOWN = "hunter2"


# Defaults and the promised examples -----------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "{}\n", "---\n"], ids=["empty", "comment", "braces", "dashes"])
def test_a_file_that_says_nothing_gives_the_defaults(text: str) -> None:
    assert config_of(text).settings == Settings()


def test_no_file_at_all_gives_the_defaults() -> None:
    config = load(environ={})
    assert (config.settings, config.file, config.origins) == (Settings(), None, {})


def test_the_promised_scalars_are_the_defaults() -> None:
    assert config_of(SCALARS).settings == Settings()


def test_the_promised_settings_load_as_written() -> None:
    settings = config_of(SETTINGS).settings
    assert settings.model_dump(exclude_unset=True, include={"servers", "auth_scopes", "workspaces"}) == {
        "servers": {
            "github": {
                "command": "npx",
                "args": ["-y", "some-server"],
                "env": {"TOKEN": "${env:GH}"},
                "trusted": False,
            }
        },
        "auth_scopes": {"gh-prod": {"env": {"TOKEN": "${env:GH_PROD}"}}},
        "workspaces": [{"id": "ws-prod", "name": "Production", "path": "/srv/prod"}],
    }
    assert settings.overrides == {"github:frobnicate": SafetyClass.READ_ONLY}
    assert settings.lexicon == {SafetyClass.DANGEROUS: ["nuke"], SafetyClass.WRITE_CAPABLE: ["stage"]}
    assert settings.model_dump(include={"identity", "notices"}) == {
        "identity": {"jwt": {"issuer": "https://…", "audience": "interlock", "jwks_url": "https://…"}},
        "notices": {"webhooks": [{"url": "https://…", "secret": "${env:HOOK}"}], "command": None},
    }


def test_the_promised_rule_loads_as_written() -> None:
    assert config_of(RULES).rules == (
        Rule(
            id="prod-writes",
            effect=Effect.HOLD,
            workspace_id="ws-prod",
            server_id="github-mcp",
            tool_pattern=("github__create_*",),
            safety_class=frozenset({SafetyClass.DANGEROUS}),
            operation_type=frozenset({OperationType.WRITE}),
            caller="ci-*",
            args=(("repo", "acme/*"), ("amount", {"gt": 100}), ("items[*].sql", {"matches": r"(?i)\bdrop\b"})),
            terms=HoldTerms(
                approval_timeout=300, approvals_needed=1, approvers=("humans",), four_eyes=False, max_grant=900
            ),
            priority=0,
        ),
    )


# What the core gets ---------------------------------------------------------------------------------------------


def test_a_rule_that_says_only_its_id_asks_for_nothing_and_decides_nothing() -> None:
    assert config_of("route_rules: [{id: a}]").rules == (Rule(id="a"),)


@pytest.mark.parametrize(
    ("stated", "effect"),
    [
        ("effect: allow", Effect.ALLOW),
        ("effect: hold", Effect.HOLD),
        ("effect: deny", Effect.DENY),
        ("requires_approval: true", Effect.HOLD),
        ("requires_approval: false", None),
        ("effect: allow, requires_approval: false", Effect.ALLOW),
        ("effect: hold, requires_approval: true", Effect.HOLD),
    ],
)
def test_requiring_approval_is_another_word_for_hold(stated: str, effect: Effect | None) -> None:
    assert config_of(f"route_rules: [{{id: a, {stated}}}]").rules[0].effect is effect


def test_without_terms_of_its_own_a_rule_holds_under_the_terms_of_the_hold_section() -> None:
    config = config_of(
        "hold: {approval_timeout: 60, approvals_needed: 2, approvers: [humans], max_grant: 0}\n"
        "route_rules: [{id: a, effect: hold}]\n"
    )
    terms = HoldTerms(approval_timeout=60, approvals_needed=2, approvers=("humans",), max_grant=0)
    assert (config.hold_terms, config.rules[0].terms) == (terms, terms)


def test_the_terms_of_a_rule_come_before_those_of_the_hold_section() -> None:
    config = config_of(
        "hold: {approval_timeout: 60, approvals_needed: 2, approvers: [humans], max_grant: 5m}\n"
        "route_rules:\n"
        "  - {id: a, approval_timeout: 2m, approvals_needed: 3, approvers: ann, four_eyes: true, max_grant: 0}\n"
    )
    assert config.rules[0].terms == HoldTerms(
        approval_timeout=120, approvals_needed=3, approvers=("ann",), four_eyes=True, max_grant=0
    )


@pytest.mark.parametrize(("stated", "seconds"), [("1s", 1), ("1500ms", 2), ("1999ms", 2), ("2000ms", 2), ("2001ms", 3)])
def test_a_part_of_a_second_counts_as_a_whole_one(stated: str, seconds: int) -> None:
    config = config_of(
        f"hold: {{approval_timeout: {stated}, max_grant: {stated}}}\n"
        f"route_rules: [{{id: a, approval_timeout: {stated}, max_grant: {stated}}}]\n"
    )
    terms = HoldTerms(approval_timeout=seconds, max_grant=seconds)
    assert (config.hold_terms, config.rules[0].terms) == (terms, terms)


def test_the_words_of_the_file_are_added_to_the_lexicon() -> None:
    lexicon = config_of("lexicon: {dangerous: [yeet], write-capable: [stage]}").lexicon
    assert lexicon.dangerous_anywhere == DEFAULT.dangerous_anywhere | {"yeet"}
    assert lexicon.write_anywhere == DEFAULT.write_anywhere | {"stage"}


def test_an_approval_may_be_answered_never_so_that_calls_wait_until_the_timeout() -> None:
    hold = config_of("hold: {answer_after: never, clients: {claude-code: never, cursor: 50}}").settings.hold
    assert hold.answer_after == "never"
    assert hold.clients == {"claude-code": "never", "cursor": timedelta(seconds=50)}


# Bad files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("postur: strict", "interlock.yaml:1:1: unknown key 'postur'; did you mean 'posture'?"),
        ("posture: strict\nzzz: 1", "interlock.yaml:2:1: unknown key 'zzz'"),
        ("listen:\n  prot: 80\n", "interlock.yaml:2:3: unknown key 'prot'; did you mean 'port'?"),
        ("hold: {answer_afer: 5s}", "interlock.yaml:1:8: unknown key 'answer_afer'; did you mean 'answer_after'?"),
        ("servers: {a: {comand: npx}}", "interlock.yaml:1:15: unknown key 'comand'; did you mean 'command'?"),
        ("auth_scopes: {a: {evn: {}}}", "interlock.yaml:1:19: unknown key 'evn'; did you mean 'env'?"),
        ("workspaces: [{id: a, pth: /}]", "interlock.yaml:1:22: unknown key 'pth'; did you mean 'path'?"),
        (
            "route_rules:\n  - id: a\n    tool_patern: x\n",
            "interlock.yaml:3:5: unknown key 'tool_patern'; did you mean 'tool_pattern'?",
        ),
        ("identity: {jtw: {}}", "interlock.yaml:1:12: unknown key 'jtw'; did you mean 'jwt'?"),
        (
            "notices: {webhooks: [{url: 'https://x', secrt: x}]}",
            "interlock.yaml:1:41: unknown key 'secrt'; did you mean 'secret'?",
        ),
        ("'': 1", "interlock.yaml:1:1: unknown key ''"),
    ],
)
def test_an_unknown_key_is_refused_at_its_place_with_a_suggestion(text: str, problem: str) -> None:
    assert problems_of(text) == (problem,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("listen: {port: '7373'}", "interlock.yaml:1:16: listen.port is a text; it must be a whole number"),
        ("listen: {port: ''}", "interlock.yaml:1:10: listen.port is ''; it must be a whole number"),
        (
            "listen: {port: .INF}",
            "interlock.yaml:1:16: this cannot be read as the kind of value it claims to be; quote it if it is a text",
        ),
        (
            "listen: {port: .NaN}",
            "interlock.yaml:1:16: this cannot be read as the kind of value it claims to be; quote it if it is a text",
        ),
        ("listen: {port: 7373.0}", "interlock.yaml:1:16: listen.port is 7373.0; it must be a whole number"),
        ("listen: {port: true}", "interlock.yaml:1:16: listen.port is true; it must be a whole number"),
        ("listen: {host: ''}", "interlock.yaml:1:10: listen.host is ''; it must not be empty"),
        ("listen: {host: 127}", "interlock.yaml:1:16: listen.host is 127; it must be a text"),
        ("listen: []", "interlock.yaml:1:9: listen is a list; it must be a mapping"),
        ("listen: 7373", "interlock.yaml:1:9: listen is 7373; it must be a mapping"),
        ("namespacing: yes", "interlock.yaml:1:14: namespacing is a text; it must be true or false"),
        ("namespacing: 1", "interlock.yaml:1:14: namespacing is 1; it must be true or false"),
        ("default_workspace: [a]", "interlock.yaml:1:20: default_workspace is a list; it must be a text"),
        ("servers: [a]", "interlock.yaml:1:10: servers is a list; it must be a mapping"),
        ("servers: {a: npx}", "interlock.yaml:1:14: servers.a is a text; it must be a mapping"),
        ("servers: {a: ~}", "interlock.yaml:1:14: servers.a is empty; it must be a mapping"),
        ("servers: {a: {command: [npx]}}", "interlock.yaml:1:24: servers.a.command is a list; it must be a text"),
        ("servers: {a: {command: x, args: y}}", "interlock.yaml:1:33: servers.a.args is a text; it must be a list"),
        (
            "servers: {a: {command: x, args: [1]}}",
            "interlock.yaml:1:34: servers.a.args[0] is not usable; it must be a text",
        ),
        (
            "servers: {a: {command: x, trusted: 'true'}}",
            "interlock.yaml:1:36: servers.a.trusted is a text; it must be true or false",
        ),
        ("workspaces: {id: a}", "interlock.yaml:1:13: workspaces is a mapping; it must be a list"),
        ("route_rules: [a]", "interlock.yaml:1:15: route_rules[0] is a text; it must be a mapping"),
        ("route_rules: [{id: 5}]", "interlock.yaml:1:20: route_rules[0].id is 5; it must be a text"),
        (
            "route_rules: [{id: a, priority: 1.5}]",
            "interlock.yaml:1:33: route_rules[0].priority is 1.5; it must be a whole number",
        ),
        (
            "route_rules: [{id: a, tool_pattern: 5}]",
            "interlock.yaml:1:37: route_rules[0].tool_pattern is 5; it must be a list",
        ),
        (
            "route_rules: [{id: a, tool_pattern: ['']}]",
            "interlock.yaml:1:38: route_rules[0].tool_pattern[0] is ''; it must not be empty",
        ),
        ("route_rules: [{id: a, args: x}]", "interlock.yaml:1:29: route_rules[0].args is a text; it must be a mapping"),
        ("overrides: [x]", "interlock.yaml:1:12: overrides is a list; it must be a mapping"),
        ("lexicon: {dangerous: nuke}", "interlock.yaml:1:22: lexicon.dangerous is a text; it must be a list"),
        ("lab: {max_calls: many}", "interlock.yaml:1:18: lab.max_calls is a text; it must be a whole number"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_at_its_place(text: str, problem: str) -> None:
    assert problems_of(text) == (problem,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "posture: strickt",
            "interlock.yaml:1:10: posture is 'strickt'; it must be observe, open, guarded or strict;"
            " did you mean 'strict'?",
        ),
        ("posture: ~", "interlock.yaml:1:10: posture is empty; it must be observe, open, guarded or strict"),
        ("expose: all", "interlock.yaml:1:9: expose is 'all'; it must be search, direct or both"),
        (
            "record: {wait: write}",
            "interlock.yaml:1:16: record.wait is 'write'; it must be writes or all; did you mean 'writes'?",
        ),
        (
            "intent_declaration: {mode: infered}",
            "interlock.yaml:1:28: intent_declaration.mode is 'infered'; it must be required or inferred;"
            " did you mean 'inferred'?",
        ),
        (
            "results: {on_injection: ignore}",
            "interlock.yaml:1:25: results.on_injection is 'ignore'; it must be label or block",
        ),
        (
            "servers: {a: {command: x, sessions: per-call}}",
            "interlock.yaml:1:37: servers.a.sessions is 'per-call'; it must be shared or per-caller;"
            " did you mean 'per-caller'?",
        ),
        (
            "route_rules: [{id: a, effect: dney}]",
            "interlock.yaml:1:31: route_rules[0].effect is 'dney'; it must be allow, hold or deny;"
            " did you mean 'deny'?",
        ),
        (
            "route_rules: [{id: a, safety_class: [dangerus]}]",
            f"interlock.yaml:1:38: route_rules[0].safety_class[0] is 'dangerus'; {_CLASSES}; did you mean 'dangerous'?",
        ),
        (
            "route_rules: [{id: a, operation_type: reed}]",
            "interlock.yaml:1:39: route_rules[0].operation_type[0] is 'reed'; it must be read, write or destructive;"
            " did you mean 'read'?",
        ),
        (
            "overrides: {'a:b': readonly}",
            f"interlock.yaml:1:20: overrides.a:b is 'readonly'; {_CLASSES}; did you mean 'read-only'?",
        ),
        (
            "lexicon: {dangerus: [x]}",
            f"interlock.yaml:1:11: lexicon.dangerus is 'dangerus'; {_CLASSES}; did you mean 'dangerous'?",
        ),
    ],
)
def test_a_word_that_is_none_of_the_known_ones_is_refused_with_a_suggestion(text: str, problem: str) -> None:
    assert problems_of(text) == (problem,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("hold: {answer_after: soon}", f"interlock.yaml:1:22: hold.answer_after is 'soon'; {_OR_NEVER}"),
        ("hold: {answer_after: -5}", f"interlock.yaml:1:22: hold.answer_after is -5; {_OR_NEVER}"),
        ("hold: {answer_after: -5s}", f"interlock.yaml:1:22: hold.answer_after is '-5s'; {_OR_NEVER}"),
        ("hold: {answer_after: Never}", f"interlock.yaml:1:22: hold.answer_after is 'Never'; {_OR_NEVER}"),
        ("hold: {clients: {x: 1.5}}", f"interlock.yaml:1:21: hold.clients.x is 1.5; {_OR_NEVER}"),
        ("hold: {approval_timeout: never}", f"interlock.yaml:1:26: hold.approval_timeout is 'never'; {_DURATION}"),
        ("hold: {approval_timeout: -1}", f"interlock.yaml:1:26: hold.approval_timeout is -1; {_DURATION}"),
        ("hold: {approval_timeout: true}", f"interlock.yaml:1:26: hold.approval_timeout is true; {_DURATION}"),
        (
            "hold: {approval_timeout: 0}",
            "interlock.yaml:1:26: hold.approval_timeout is 0; it must be at least one second",
        ),
        (
            "hold: {approval_timeout: 999ms}",
            "interlock.yaml:1:26: hold.approval_timeout is '999ms'; it must be at least one second",
        ),
        (
            "hold: {approval_timeout: 10000000000000}",
            f"interlock.yaml:1:26: hold.approval_timeout is 10000000000000; {_TEN_YEARS}",
        ),
        ("hold: {answer_after: 3651d}", f"interlock.yaml:1:22: hold.answer_after is '3651d'; {_TEN_YEARS}; or never"),
        ("hold: {use_within: 87601h}", f"interlock.yaml:1:20: hold.use_within is '87601h'; {_TEN_YEARS}"),
        ("hold: {max_grant: 3651d}", f"interlock.yaml:1:19: hold.max_grant is '3651d'; {_TEN_YEARS}"),
        ("hold: {max_grant: ٣s}", f"interlock.yaml:1:19: hold.max_grant is '٣s'; {_DURATION}"),
        (
            "hold: {max_grant: .INF}",
            "interlock.yaml:1:19: this cannot be read as the kind of value it claims to be; quote it if it is a text",
        ),
        ("hold: {use_within: 0s}", "interlock.yaml:1:20: hold.use_within is '0s'; it must be at least one second"),
        (
            "servers: {a: {command: x, call_timeout: 0}}",
            "interlock.yaml:1:41: servers.a.call_timeout is 0; it must be at least one second",
        ),
        (
            "servers: {a: {command: x, call_timeout: -2m}}",
            f"interlock.yaml:1:41: servers.a.call_timeout is '-2m'; {_DURATION}",
        ),
        (
            "route_rules: [{id: a, approval_timeout: 0}]",
            "interlock.yaml:1:41: route_rules[0].approval_timeout is 0; it must be at least one second",
        ),
        (
            "route_rules: [{id: a, approval_timeout: -300}]",
            f"interlock.yaml:1:41: route_rules[0].approval_timeout is -300; {_DURATION}",
        ),
        (
            "route_rules: [{id: a, max_grant: -1}]",
            f"interlock.yaml:1:34: route_rules[0].max_grant is -1; {_DURATION}",
        ),
        ("lab: {call_delay: -100ms}", f"interlock.yaml:1:19: lab.call_delay is '-100ms'; {_DURATION}"),
        (
            "limits: {body: 4MB}",
            "interlock.yaml:1:16: limits.body is '4MB'; it must be a size such as 4194304 (bytes), \"512KiB\" or"
            ' "4MiB"',
        ),
    ],
)
def test_a_bad_duration_or_size_is_refused_with_examples(text: str, problem: str) -> None:
    assert problems_of(text) == (problem,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("listen: {port: 65536}", "interlock.yaml:1:16: listen.port is 65536; it must be at most 65535"),
        ("listen: {port: -1}", "interlock.yaml:1:16: listen.port is -1; it must be at least 0"),
        (
            "hold: {approvals_needed: 0}",
            "interlock.yaml:1:26: hold.approvals_needed is 0; it must be at least 1",
        ),
        (
            "hold: {max_pending_per_caller: -1}",
            "interlock.yaml:1:32: hold.max_pending_per_caller is -1; it must be at least 1",
        ),
        ("record: {keep_days: 0}", "interlock.yaml:1:21: record.keep_days is 0; it must be at least 1"),
        (
            "limits: {calls_per_minute: 0}",
            "interlock.yaml:1:28: limits.calls_per_minute is 0; it must be at least 1",
        ),
        ("lab: {concurrency: 0}", "interlock.yaml:1:20: lab.concurrency is 0; it must be at least 1"),
    ],
)
def test_a_number_out_of_range_is_refused_with_its_limit(text: str, problem: str) -> None:
    assert problems_of(text) == (problem,)


@pytest.mark.parametrize(("key", "column"), [("tool_pattern", 37), ("safety_class", 37), ("operation_type", 39)])
def test_an_empty_list_of_what_a_rule_asks_for_is_refused_because_it_would_mean_anything(key: str, column: int) -> None:
    assert problems_of(f"route_rules: [{{id: a, {key}: []}}]") == (
        f"interlock.yaml:1:{column}: route_rules[0].{key} is a list; {_ANY}",
    )


@pytest.mark.parametrize("rule_id", ["a b", "posture:guarded", ".a", "-a", "_a", "ä", "a/b", "a\\n", "entry:run-tool"])
def test_a_rule_id_of_other_characters_is_refused(rule_id: str) -> None:
    shown = rule_id.replace("\\n", "\n")
    assert problems_of(f'route_rules: [{{id: "{rule_id}"}}]') == (
        f"interlock.yaml:1:20: route_rules[0].id is '{shown}'; {_RULE_ID}",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("posture:\n", "interlock.yaml:1:1: posture is empty; it must be observe, open, guarded or strict"),
        ("listen:\n  port: 1\n  host:\n", "interlock.yaml:3:3: listen.host is empty; it must be a text"),
        ("listen: {host: }", "interlock.yaml:1:10: listen.host is empty; it must be a text"),
        ("hold:\n", "interlock.yaml:1:1: hold is empty; it must be a mapping"),
        ("route_rules: [{id: ''}]", f"interlock.yaml:1:16: route_rules[0].id is ''; {_RULE_ID}"),
    ],
)
def test_an_empty_value_is_refused_at_its_key(text: str, problem: str) -> None:
    assert problems_of(text) == (problem,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("servers: {GitHub: {command: x}}", f"interlock.yaml:1:11: servers.GitHub is 'GitHub'; {_ID}"),
        ("servers: {git_hub: {command: x}}", f"interlock.yaml:1:11: servers.git_hub is 'git_hub'; {_ID}"),
        ("servers: {-a: {command: x}}", f"interlock.yaml:1:11: servers.-a is '-a'; {_ID}"),
        ("servers: {ä: {command: x}}", f"interlock.yaml:1:11: servers.ä is 'ä'; {_ID}"),
        (
            "servers: {a: {command: x, namespace: A b}}",
            f"interlock.yaml:1:38: servers.a.namespace is 'A b'; {_ID}",
        ),
        (
            "servers: {a: {command: x, namespace: a__b}}",
            f"interlock.yaml:1:38: servers.a.namespace is 'a__b'; {_ID}",
        ),
        ("servers: {a: {command: x, namespace: ''}}", f"interlock.yaml:1:27: servers.a.namespace is ''; {_ID}"),
    ],
)
def test_a_bad_id_or_namespace_is_refused_at_its_place(text: str, problem: str) -> None:
    assert problems_of(text) == (problem,)


@pytest.mark.parametrize("name", ["a", "0", "github", "github-mcp", "3d-printer"])
def test_a_good_id_is_accepted(name: str) -> None:
    assert list(config_of(f"servers: {{'{name}': {{command: x}}}}").settings.servers) == [name]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("servers: {a: {url: 'ftp://x'}}", f"interlock.yaml:1:20: servers.a.url is not usable; {_HOST}"),
        ("servers: {a: {url: 'https://'}}", f"interlock.yaml:1:20: servers.a.url is not usable; {_HOST}"),
        ("servers: {a: {url: 'http:///mcp'}}", f"interlock.yaml:1:20: servers.a.url is not usable; {_HOST}"),
        ("servers: {a: {url: 'https:// x'}}", f"interlock.yaml:1:20: servers.a.url is not usable; {_HOST}"),
        ("servers: {a: {url: x.org}}", f"interlock.yaml:1:20: servers.a.url is not usable; {_HOST}"),
        (
            "notices: {webhooks: [{url: 'https://'}]}",
            f"interlock.yaml:1:28: notices.webhooks[0].url is not usable; {_HOST}",
        ),
        (
            "identity: {jwt: {issuer: a, audience: b, jwks_url: x}}",
            f"interlock.yaml:1:52: identity.jwt.jwks_url is not usable; {_HOST}",
        ),
        (
            "identity: {jwt: {issuer: a, audience: b, jwks_url: 'http://issuer.example/keys'}}",
            "interlock.yaml:1:52: identity.jwt.jwks_url is not usable; "
            "it must begin with https://; http:// is only for this machine itself",
        ),
        (
            "telemetry: {endpoint: 'http://u:p@collector:4318'}",
            "interlock.yaml:1:23: telemetry.endpoint is not usable; "
            "it must hold no user and password, and no '@'; what the collector asks for goes into 'headers'",
        ),
        (
            "store: mysql://db",
            "interlock.yaml:1:8: store is not usable; it must be 'sqlite' or an address that begins with postgresql://",
        ),
    ],
)
def test_an_address_of_the_wrong_kind_is_refused(text: str, problem: str) -> None:
    assert problems_of(text) == (problem,)


@pytest.mark.parametrize(
    "url", ["https://issuer.example/keys", "http://127.0.0.1:81/keys", "http://localhost/keys", "http://[::1]:81"]
)
def test_keys_may_come_from_this_machine_without_tls(url: str) -> None:
    jwt = config_of(f"identity: {{jwt: {{issuer: a, audience: b, jwks_url: '{url}'}}}}").settings.identity.jwt

    assert jwt is not None
    assert jwt.jwks_url == url


@pytest.mark.parametrize(
    "url", ["http://issuer.example/keys", "http://127.0.0.1.issuer.example/", "http://127.0.0.1@issuer.example/"]
)
def test_keys_may_not_come_from_elsewhere_without_tls(url: str) -> None:
    assert problems_of(f"identity: {{jwt: {{issuer: a, audience: b, jwks_url: '{url}'}}}}")


@pytest.mark.parametrize(
    "reference",
    ["${GH}", "${env}", "${env:}", "${env: }", "${env:GH", "${ENV:GH}", "${vault:GH}", "${}", "${env:A} ${B}"],
)
@pytest.mark.parametrize(
    ("text", "at"),
    [
        ('servers: {a: {command: x, env: {TOKEN: "%s"}}}', "interlock.yaml:1:40: servers.a.env.TOKEN"),
        ('servers: {a: {url: "https://x", headers: {K: "%s"}}}', "interlock.yaml:1:46: servers.a.headers.K"),
        ('auth_scopes: {gh: {env: {TOKEN: "%s"}}}', "interlock.yaml:1:33: auth_scopes.gh.env.TOKEN"),
        (
            'notices: {webhooks: [{url: "https://x", secret: "%s"}]}',
            "interlock.yaml:1:49: notices.webhooks[0].secret",
        ),
    ],
)
def test_a_malformed_reference_is_refused_where_it_stands(text: str, at: str, reference: str) -> None:
    assert problems_of(text % reference) == (f"{at} is not usable; {_REFERENCE}",)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("route_rules:\n  - effect: hold\n", ("interlock.yaml:2:5: 'id' is missing in route_rules[0]",)),
        ("workspaces: [{name: x}]", ("interlock.yaml:1:14: 'id' is missing in workspaces[0]",)),
        ("notices: {webhooks: [{}]}", ("interlock.yaml:1:22: 'url' is missing in notices.webhooks[0]",)),
        (
            "identity: {jwt: {issuer: x}}",
            (
                "interlock.yaml:1:17: 'audience' is missing in identity.jwt",
                "interlock.yaml:1:17: 'jwks_url' is missing in identity.jwt",
            ),
        ),
    ],
)
def test_what_may_not_be_left_out_is_missed_where_it_belongs(text: str, problems: tuple[str, ...]) -> None:
    assert problems_of(text) == problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("posture: open\nposture: open\n", "interlock.yaml:2:1: key 'posture' stands here twice; keep one of them"),
        ("listen: {port: 1, port: 2}", "interlock.yaml:1:19: key 'port' stands here twice; keep one of them"),
        ("posture: [open\n", "interlock.yaml:2:1: not valid YAML: expected ',' or ']', but got '<stream end>'"),
        ("posture: open: x\n", "interlock.yaml:1:14: not valid YAML: mapping values are not allowed here"),
        ("posture: open\n---\n", "interlock.yaml:2:1: not valid YAML: it holds more than one document"),
        ("? [posture]\n: open\n", "interlock.yaml:1:3: a key must be a text"),
        (
            "namespacing: !!bool maybe\n",
            f"interlock.yaml:1:14: {_UNREADABLE}",
        ),
        (
            f"listen: {{port: {'7' * 5_000}}}\n",
            f"interlock.yaml:1:16: {_UNREADABLE}",
        ),
        (
            "servers: &all\n  a: {env: *all}\n",
            "interlock.yaml:1:10: not usable: it is nested too deeply, or refers to itself",
        ),
        (
            "- posture: open\n",
            "interlock.yaml:1:1: the file must be a mapping of settings, such as 'posture: guarded'",
        ),
        (
            "\n\nguarded\n",
            "interlock.yaml:3:1: the file must be a mapping of settings, such as 'posture: guarded'",
        ),
    ],
)
def test_a_file_that_is_no_mapping_of_settings_is_refused(text: str, problem: str) -> None:
    assert problems_of(text) == (problem,)


def test_a_file_that_is_not_utf_8_is_refused() -> None:
    Path("interlock.yaml").write_bytes("posture: größe".encode("latin-1"))
    with pytest.raises(ConfigError) as caught:
        load(environ={})
    assert caught.value.problems == ("interlock.yaml: is not UTF-8 text",)


def test_a_named_file_that_is_missing_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        load("team.yaml", environ={})
    assert caught.value.problems == ("team.yaml: cannot be read: No such file or directory",)


def test_a_link_to_nowhere_is_refused_and_not_taken_for_no_file() -> None:
    Path("interlock.yaml").symlink_to("nowhere.yaml")
    with pytest.raises(ConfigError) as caught:
        load(environ={})
    assert caught.value.problems == ("interlock.yaml: cannot be read: No such file or directory",)


def test_a_folder_of_the_name_of_the_file_is_refused_and_not_taken_for_no_file() -> None:
    Path("interlock.yaml").mkdir()
    with pytest.raises(ConfigError) as caught:
        load(environ={})
    assert caught.value.problems == ("interlock.yaml: cannot be read: Is a directory",)


def test_a_link_to_nowhere_in_the_user_config_folder_is_refused(tmp_path: Path) -> None:
    link = in_the_user_config_folder(tmp_path)
    link.unlink()
    link.symlink_to("nowhere.yaml")
    with pytest.raises(ConfigError) as caught:
        load(environ={})
    assert caught.value.problems == (f"{link}: cannot be read: No such file or directory",)


def test_a_folder_in_place_of_the_file_is_refused() -> None:
    Path("team").mkdir()
    with pytest.raises(ConfigError) as caught:
        load("team", environ={})
    assert caught.value.problems == ("team: cannot be read: Is a directory",)


def test_every_problem_is_told_at_once_in_the_order_of_the_file() -> None:
    text = "zzz: 1\nposture: lax\nlisten:\n  port: '80'\n  prot: 80\nlab: {call_delay: -1}\n"
    assert problems_of(text) == (
        "interlock.yaml:1:1: unknown key 'zzz'",
        "interlock.yaml:2:10: posture is 'lax'; it must be observe, open, guarded or strict",
        "interlock.yaml:4:9: listen.port is a text; it must be a whole number",
        "interlock.yaml:5:3: unknown key 'prot'; did you mean 'port'?",
        f"interlock.yaml:6:19: lab.call_delay is -1; {_DURATION}",
    )


def test_the_error_is_a_bad_request_that_says_how_to_check_again() -> None:
    with pytest.raises(ConfigError) as caught:
        config_of("zzz: 1")
    reason = caught.value.reason
    assert (reason.code, reason.text) == (Code.BAD_REQUEST, "interlock.yaml:1:1: unknown key 'zzz'")
    assert reason.fix == "Mend the configuration; `interlock config validate` checks it again. Nothing was started."


def test_a_long_value_is_shown_by_its_beginning() -> None:
    (problem,) = problems_of(f"posture: {'x' * 500}")
    assert problem == f"interlock.yaml:1:10: posture is '{'x' * 60}'; it must be observe, open, guarded or strict"


# Secrets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "servers: {a: {command: x, env: {TOKEN: '${hunter2}'}}}",
        "servers: {a: {command: x, env: {TOKEN: 'hunter2 ${env:}'}}}",
        "servers: {a: {command: x, env: {TOKEN: [hunter2]}}}",
        "servers: {a: {command: x, env: TOKEN=hunter2}}",
        "servers: {a: {command: x, env: [TOKEN=hunter2]}}",
        "servers:\n  a:\n    command: x\n    evn: {TOKEN: hunter2}\n",
        "servers: {a: {url: 'https://x', headers: {Authorization: {Bearer: hunter2}}}}",
        "servers: {a: {url: 'https://x', headers: Bearer hunter2}}",
        "servers: {a: {url: 'https://x', env: {TOKEN: hunter2}}}",
        "auth_scopes: {gh: {env: {TOKEN: ['hunter2']}}}",
        "auth_scopes: {gh: {headers: hunter2}}",
        "notices: {webhooks: [{url: 'https://x', secret: ['hunter2']}]}",
        "notices: {webhooks: [{url: 'https://x', secret: '${file}hunter2'}]}",
        "store: mysql://user:hunter2@db/interlock",
        "store: [postgresql://user:hunter2@db/interlock]",
        "servers: {a: {url: 'ftp://user:hunter2@x'}}",
        "servers: {a: {url: ['https://user:hunter2@x']}}",
        "identity: {jwt: {issuer: a, audience: b, jwks_url: 'hunter2'}}",
        "telemetry: {endpoint: 'http://user:hunter2@collector:4318'}",
        "telemetry: {endpoint: 'http://user:1/hunter2@collector:4318'}",
        "telemetry: {endpoint: 'http://user:1#hunter2@collector:4318'}",
        "servers: {a: {command: x, args: --token hunter2}}",
        "servers: {a: {command: x, args: {token: hunter2}}}",
        "auth_scopes: hunter2",
        "auth_scopes: {gh: hunter2}",
        "auth_scopes: {gh: [hunter2]}",
        "servers: {a: hunter2}",
        "listen: hunter2",
        "listen: {port: hunter2}",
        "namespacing: hunter2",
        "workspaces: hunter2",
        "route_rules: [hunter2]",
        "route_rules: [{id: a, args: hunter2}]",
        "lab: {max_calls: hunter2}",
        "store: *hunter2",
        "store: !hunter2!x y",
        "servers: {a: {command: x, env: {TOKEN: *hunter2}}}",
        "servers: {a: {command: x, env: {TOKEN: !!int hunter2}}}",
    ],
)
def test_what_may_be_a_secret_is_never_shown_in_an_error(text: str) -> None:
    assert _NEVER_SHOWN not in "\n".join(problems_of(text))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("INTERLOCK_STORE", "mysql://user:hunter2@db/interlock"),
        ("INTERLOCK_SERVERS__A__ENV__TOKEN", "${hunter2"),
        ("INTERLOCK_SERVERS__A__ENV", "hunter2"),
        ("INTERLOCK_NOTICES__WEBHOOKS", "[{url: 'https://x', secret: ['hunter2']}]"),
        ("INTERLOCK_HUNTER", "hunter2"),
        ("INTERLOCK_STORE", "*hunter2"),
        ("INTERLOCK_SERVERS__A__ARGS", "hunter2"),
        ("INTERLOCK_LISTEN__PORT", "hunter2"),
        ("INTERLOCK_STORE", "!!int hunter2"),
    ],
)
def test_a_secret_in_a_variable_is_never_shown_in_an_error(name: str, value: str) -> None:
    problems = problems_of("servers: {a: {command: x}}", {name: value})
    assert _NEVER_SHOWN not in "\n".join(problems)


@pytest.mark.parametrize("value", ["'odd", "a: b: c", "!x", "@x", "my host #2", "0123", "*a", "", "[1"])
def test_a_variable_below_env_is_taken_as_it_is(value: str) -> None:
    loaded = config_of("servers: {a: {command: x}}", {"INTERLOCK_SERVERS__A__ENV__TOKEN": value}).settings
    assert loaded.servers["a"].env == {"TOKEN": value}


@pytest.mark.parametrize(
    "text",
    ["posture: {}", "hold: {{answer_after: {}}}", "servers: {{a: {{command: x, namespace: {}}}}}"],
    ids=["a word", "a duration", "an id"],
)
def test_a_known_shape_of_a_credential_is_never_shown_wherever_it_stands(text: str) -> None:
    token = "ghp_" + "a1B2" * 9
    (problem,) = problems_of(text.format(token))
    assert token not in problem
    assert " is '[redacted github]'; it must be " in problem


# Environment ----------------------------------------------------------------------------------------------------

_SERVERS = "servers:\n  my-srv: {command: x, env: {TOKEN: '${env:A}'}}\n  web: {url: 'https://x'}\n"


@pytest.mark.parametrize(
    ("environ", "changed"),
    [
        ({"INTERLOCK_POSTURE": "strict"}, {"posture": Posture.STRICT}),
        ({"INTERLOCK_NAMESPACING": "true"}, {"namespacing": True}),
        ({"INTERLOCK_LISTEN__PORT": "80"}, {"listen": {"port": 80}}),
        ({"INTERLOCK_LISTEN": "{port: 80, host: '::1'}"}, {"listen": {"port": 80, "host": "::1"}}),
        (
            {"INTERLOCK_LISTEN__PORT": "80", "INTERLOCK_LISTEN__HOST": "::1"},
            {"listen": {"port": 80, "host": "::1"}},
        ),
        (
            {"INTERLOCK_LISTEN": "{port: 80}", "INTERLOCK_LISTEN__HOST": "::1"},
            {"listen": {"port": 80, "host": "::1"}},
        ),
        ({"INTERLOCK_HOLD__ANSWER_AFTER": "never"}, {"hold": {"answer_after": "never"}}),
        ({"INTERLOCK_HOLD__APPROVERS": "[humans, ann]"}, {"hold": {"approvers": ["humans", "ann"]}}),
        ({"INTERLOCK_HOLD__APPROVERS": "humans"}, {"hold": {"approvers": ["humans"]}}),
        ({"INTERLOCK_RECORD__KEEP_DAYS": ""}, {"record": {"keep_days": None}}),
        ({"INTERLOCK_DEFAULT_WORKSPACE": "null"}, {"default_workspace": None}),
        (
            {"INTERLOCK_ROUTE_RULES": "[{id: a, effect: deny}]"},
            {"route_rules": [{"id": "a", "effect": Effect.DENY}]},
        ),
        ({"INTERLOCK_LEXICON__DANGEROUS": "[yeet]"}, {"lexicon": {SafetyClass.DANGEROUS: ["yeet"]}}),
        (
            {"INTERLOCK_LEXICON__WRITE_CAPABLE": "[stage]"},
            {"lexicon": {SafetyClass.WRITE_CAPABLE: ["stage"]}},
        ),
        (
            {"INTERLOCK_HOLD__CLIENTS__CLAUDE_CODE": "5s"},
            {"hold": {"clients": {"claude-code": timedelta(seconds=5)}}},
        ),
        (
            {"INTERLOCK_SERVERS__MY_ID__COMMAND": "npx", "INTERLOCK_SERVERS__MY_ID__MAX_CONCURRENT": "2"},
            {"servers": {"my-id": {"command": "npx", "max_concurrent": 2}}},
        ),
        (
            {"INTERLOCK_SERVERS__MY_ID__COMMAND": "npx", "INTERLOCK_SERVERS__MY_ID__ENV__MY_TOKEN": "${env:A}"},
            {"servers": {"my-id": {"command": "npx", "env": {"MY_TOKEN": "${env:A}"}}}},
        ),
        (
            {"INTERLOCK_INTENT_DECLARATION__STRICT_SERVER_VALIDATION": "false"},
            {"intent_declaration": {"strict_server_validation": False}},
        ),
    ],
)
def test_a_variable_sets_a_value_at_any_depth(environ: Mapping[str, str], changed: dict[str, object]) -> None:
    assert load(environ=environ).settings.model_dump(exclude_unset=True) == changed


def test_a_variable_comes_before_the_file() -> None:
    settings = config_of("posture: open\nlisten: {port: 1, host: h}\n", {"INTERLOCK_LISTEN__PORT": "2"}).settings
    assert (settings.posture, settings.listen.port, settings.listen.host) == (Posture.OPEN, 2, "h")


def test_an_underscore_in_a_variable_finds_the_dash_of_an_id_in_the_file() -> None:
    settings = config_of(_SERVERS, {"INTERLOCK_SERVERS__MY_SRV__TRUSTED": "true"}).settings
    assert (list(settings.servers), settings.servers["my-srv"].trusted) == (["my-srv", "web"], True)


def test_an_underscore_in_a_variable_finds_the_dash_of_a_client_in_the_file() -> None:
    config = config_of("hold: {clients: {claude-code: 3s}}", {"INTERLOCK_HOLD__CLIENTS__CLAUDE_CODE": "5s"})
    assert config.settings.hold.clients == {"claude-code": timedelta(seconds=5)}


def test_an_underscore_in_a_variable_finds_the_dash_of_a_header_in_the_file() -> None:
    config = config_of(
        "servers: {web: {url: 'https://x', headers: {X-Api-Key: '${env:A}'}}}",
        {"INTERLOCK_SERVERS__WEB__HEADERS__X_Api_Key": "${env:B}"},
    )
    assert config.settings.servers["web"].headers == {"X-Api-Key": "${env:B}"}


def test_an_underscore_in_a_variable_finds_the_dash_of_an_auth_scope_in_the_file() -> None:
    config = config_of("auth_scopes: {gh-prod: {}}", {"INTERLOCK_AUTH_SCOPES__GH_PROD__ENV__TOKEN": "${env:A}"})
    assert config.settings.model_dump(exclude_unset=True) == {
        "auth_scopes": {"gh-prod": {"env": {"TOKEN": "${env:A}"}}}
    }


def test_a_variable_may_add_a_server() -> None:
    settings = config_of(_SERVERS, {"INTERLOCK_SERVERS__NEW__COMMAND": "npx"}).settings
    assert settings.servers["new"].command == "npx"


@pytest.mark.parametrize(
    ("name", "server", "section", "key"),
    [
        ("INTERLOCK_SERVERS__MY_SRV__ENV__TOKEN", "my-srv", "env", "TOKEN"),
        ("INTERLOCK_SERVERS__MY_SRV__ENV__GitHub_Token", "my-srv", "env", "GitHub_Token"),
        ("INTERLOCK_SERVERS__WEB__HEADERS__Authorization", "web", "headers", "Authorization"),
    ],
)
def test_names_of_variables_and_headers_keep_their_case(name: str, server: str, section: str, key: str) -> None:
    settings = config_of(_SERVERS, {name: "${env:B}"}).settings
    assert settings.model_dump()["servers"][server][section][key] == "${env:B}"


def test_a_list_in_a_variable_replaces_the_list_of_the_file() -> None:
    config = config_of("route_rules: [{id: a}, {id: b}]", {"INTERLOCK_ROUTE_RULES": "[{id: c}]"})
    assert [rule.id for rule in config.rules] == ["c"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("INTERLOCK_POSTUR", "INTERLOCK_POSTUR: unknown setting; did you mean 'INTERLOCK_POSTURE'?"),
        ("INTERLOCK_CONFG", "INTERLOCK_CONFG: unknown setting; did you mean 'INTERLOCK_CONFIG'?"),
        ("INTERLOCK_DATADIR", "INTERLOCK_DATADIR: unknown setting; did you mean 'INTERLOCK_DATA_DIR'?"),
        ("INTERLOCK__POSTURE", "INTERLOCK__POSTURE: unknown setting; did you mean 'INTERLOCK_POSTURE'?"),
        ("INTERLOCK_LISTEN_PORT", "INTERLOCK_LISTEN_PORT: unknown setting; did you mean 'INTERLOCK_LISTEN__PORT'?"),
        (
            "INTERLOCK_HOLD_ANSWER_AFTER",
            "INTERLOCK_HOLD_ANSWER_AFTER: unknown setting; did you mean 'INTERLOCK_HOLD__ANSWER_AFTER'?",
        ),
        (
            "INTERLOCK_LAB_MAX_CALLS",
            "INTERLOCK_LAB_MAX_CALLS: unknown setting; did you mean 'INTERLOCK_LAB__MAX_CALLS'?",
        ),
        ("INTERLOCK_ZZZ", "INTERLOCK_ZZZ: unknown setting"),
        ("INTERLOCK_", "INTERLOCK_: unknown setting"),
        ("INTERLOCK_LISTEN__PROT", "INTERLOCK_LISTEN__PROT: unknown key 'prot'; did you mean 'port'?"),
    ],
)
def test_an_unknown_variable_of_ours_is_refused_with_a_suggestion(name: str, problem: str) -> None:
    assert problems_of("", {name: "80"}) == (problem,)


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        (
            {"INTERLOCK_POSTURE": "strickt"},
            "INTERLOCK_POSTURE: posture is 'strickt'; it must be observe, open, guarded or strict;"
            " did you mean 'strict'?",
        ),
        (
            {"INTERLOCK_LISTEN__PORT": "'80'"},
            "INTERLOCK_LISTEN__PORT: listen.port is a text; it must be a whole number",
        ),
        (
            {"INTERLOCK_LISTEN__PORT": ""},
            "INTERLOCK_LISTEN__PORT: listen.port is empty; it must be a whole number",
        ),
        (
            {"INTERLOCK_ROUTE_RULES": "[{id: a, effect: dney}]"},
            "INTERLOCK_ROUTE_RULES: route_rules[0].effect is 'dney'; it must be allow, hold or deny;"
            " did you mean 'deny'?",
        ),
        (
            {"INTERLOCK_ROUTE_RULES": "[{id: a, server_id: gitub}]"},
            "INTERLOCK_ROUTE_RULES: unknown server 'gitub'; known are my-srv, web",
        ),
        (
            {"INTERLOCK_DEFAULT_WORKSPACE": "ws"},
            "INTERLOCK_DEFAULT_WORKSPACE: unknown workspace 'ws'; there is no workspace in this file",
        ),
        (
            {"INTERLOCK_HOLD__APPROVERS": "[a"},
            "INTERLOCK_HOLD__APPROVERS: not valid YAML: expected ',' or ']', but got '<stream end>'",
        ),
        (
            {"INTERLOCK_LISTEN": "{port: 1, port: 2}"},
            "INTERLOCK_LISTEN: key 'port' stands here twice; keep one of them",
        ),
        (
            {"INTERLOCK_SERVERS__MY_SRV__COMMAND__X": "1"},
            "INTERLOCK_SERVERS__MY_SRV__COMMAND__X: goes below a setting that is no mapping",
        ),
        (
            {"INTERLOCK_LISTEN__PORT": "70000"},
            "INTERLOCK_LISTEN__PORT: listen.port is 70000; it must be at most 65535",
        ),
        (
            {"INTERLOCK_LISTEN": "{host: h, port: -1}"},
            "INTERLOCK_LISTEN: listen.port is -1; it must be at least 0",
        ),
        (
            {"INTERLOCK_LISTEN__PORT": "7" * 5_000},
            f"INTERLOCK_LISTEN__PORT: {_UNREADABLE}",
        ),
        (
            {"INTERLOCK_STORE": "*x"},
            "INTERLOCK_STORE: store is not usable; it must be 'sqlite' or an address that begins with postgresql://",
        ),
        (
            {"INTERLOCK_LEXICON__UNKNOWN": "[x]"},
            "INTERLOCK_LEXICON__UNKNOWN: no word can make a tool unknown; use the other classes",
        ),
        (
            {"INTERLOCK_OVERRIDES": "{'web:x': read-only, odd: read-only}"},
            "INTERLOCK_OVERRIDES: 'odd' must be written as server:tool",
        ),
        (
            {"INTERLOCK_ROUTE_RULES": "[{id: a, args: {repo: {}}}]"},
            "INTERLOCK_ROUTE_RULES: the matcher is empty",
        ),
        (
            {"INTERLOCK_ROUTE_RULES": "[{effect: deny}]"},
            "INTERLOCK_ROUTE_RULES: 'id' is missing in route_rules[0]",
        ),
        (
            {"INTERLOCK_SERVERS__NEW__TRUSTED": "true"},
            "INTERLOCK_SERVERS__NEW__TRUSTED: server 'new' needs either 'command' or 'url'",
        ),
        (
            {"INTERLOCK_SERVERS__WEB__CWD": "/srv"},
            "INTERLOCK_SERVERS__WEB__CWD: 'cwd' belongs to a server with a 'command'; this one has a 'url'",
        ),
    ],
)
def test_a_bad_value_in_a_variable_is_told_by_the_name_of_the_variable(
    environ: Mapping[str, str], problem: str
) -> None:
    assert problems_of(_SERVERS, environ) == (problem,)


def test_problems_of_variables_come_before_those_of_the_file() -> None:
    environ = {"INTERLOCK_LISTEN__PORT": "x", "INTERLOCK_POSTUR": "strict"}
    assert [each.split(":")[0] for each in problems_of("zzz: 1", environ)] == [
        "INTERLOCK_POSTUR",
        "INTERLOCK_LISTEN__PORT",
        "interlock.yaml",
    ]


@pytest.mark.parametrize("name", ["INTERLOCK_CONFIG", "INTERLOCK_DATA_DIR"])
def test_the_variables_that_are_no_settings_are_no_problem(name: str) -> None:
    Path("interlock.yaml").write_text("posture: open")
    assert load(environ={name: "interlock.yaml"}).settings.posture is Posture.OPEN


def test_variables_of_others_are_left_alone() -> None:
    environ = {"PATH": "/bin", "INTERLOCKED": "x", "interlock_posture": "open", "MY_INTERLOCK_POSTURE": "open"}
    assert load(environ=environ).settings == Settings()


def test_without_being_told_otherwise_the_variables_of_the_process_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_POSTURE", "strict")
    assert load().settings.posture is Posture.STRICT


# Origins --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        (("posture",), "interlock.yaml:1:10"),
        (("listen", "port"), "environment INTERLOCK_LISTEN__PORT"),
        (("listen", "host"), "interlock.yaml:2:16"),
        (("store",), "default"),
        (("hold", "clients", "cursor"), "interlock.yaml:3:26"),
        (("hold", "answer_after"), "default"),
        (("route_rules", 0, "id"), "interlock.yaml:5:9"),
        (("route_rules", 0, "tool_pattern", 0), "interlock.yaml:6:19"),
        (("route_rules", 1, "tool_pattern", 1), "interlock.yaml:7:31"),
        (("route_rules", 1, "priority"), "default"),
        (("lab", "max_calls"), "interlock.yaml:8:18"),
        (("workspaces", 0, "id"), "environment INTERLOCK_WORKSPACES"),
    ],
)
def test_each_value_knows_where_it_came_from(path: SettingPath, origin: str) -> None:
    text = (
        "posture: strict\n"
        "listen: {host: h, port: 1}\n"
        "hold: {clients: {cursor: 5s}}\n"
        "route_rules:\n"
        "  - id: a\n"
        "    tool_pattern: x\n"
        "  - {id: b, tool_pattern: [x, y]}\n"
        "lab: {max_calls: null}\n"
        "workspaces: [{id: from-the-file}]\n"
    )
    environ = {"INTERLOCK_LISTEN__PORT": "2", "INTERLOCK_WORKSPACES": "[{id: a}]"}
    assert config_of(text, environ).origin(path) == origin


def test_a_section_that_a_variable_replaced_has_no_origin_left_in_the_file() -> None:
    config = config_of("listen: {host: h, port: 1}", {"INTERLOCK_LISTEN": "{port: 2}"})
    assert config.origins == {("listen", "port"): "environment INTERLOCK_LISTEN"}


@pytest.mark.parametrize(
    ("text", "environ", "path", "origin"),
    [
        ("", {"INTERLOCK_LISTEN": "{port: 2}"}, ("listen", "port"), "environment INTERLOCK_LISTEN"),
        ("", {"INTERLOCK_LISTEN": "{port: 2}"}, ("listen", "host"), "default"),
        ("listen: {host: h}", {"INTERLOCK_LISTEN": "{port: 2}"}, ("listen", "host"), "default"),
        ("", {"INTERLOCK_LISTEN": "{}"}, ("listen", "port"), "default"),
        ("listen: {}", {}, ("listen", "port"), "default"),
        ("servers: {}", {}, ("servers",), "interlock.yaml:1:10"),
        ("route_rules: []", {}, ("route_rules",), "interlock.yaml:1:14"),
        (
            "route_rules: [{id: a}]",
            {"INTERLOCK_ROUTE_RULES": "[]"},
            ("route_rules",),
            "environment INTERLOCK_ROUTE_RULES",
        ),
        ("hold: {clients: {}}", {}, ("hold", "clients", "claude-code"), "default"),
        ("hold: {clients: {cursor: 5s}}", {}, ("hold", "clients", "claude-code"), "default"),
        ("hold: {clients: {claude-code: 5s}}", {}, ("hold", "clients", "claude-code"), "interlock.yaml:1:31"),
        (
            "hold: {clients: {claude-code: 5s}}",
            {"INTERLOCK_HOLD__CLIENTS__CLAUDE_CODE": "6s"},
            ("hold", "clients", "claude-code"),
            "environment INTERLOCK_HOLD__CLIENTS__CLAUDE_CODE",
        ),
        (
            "",
            {"INTERLOCK_LISTEN": "{port: 2}", "INTERLOCK_LISTEN__PORT": "3"},
            ("listen", "port"),
            "environment INTERLOCK_LISTEN__PORT",
        ),
        (
            "",
            {"INTERLOCK_HOLD__APPROVERS": "humans"},
            ("hold", "approvers", 0),
            "environment INTERLOCK_HOLD__APPROVERS",
        ),
        ("", {"INTERLOCK_RECORD__KEEP_DAYS": ""}, ("record", "keep_days"), "environment INTERLOCK_RECORD__KEEP_DAYS"),
        ("record: {keep_days: }", {}, ("record", "keep_days"), "interlock.yaml:1:10"),
    ],
)
def test_only_what_is_stated_comes_from_the_file_or_the_variable(
    text: str, environ: Mapping[str, str], path: SettingPath, origin: str
) -> None:
    assert config_of(text, environ).origin(path) == origin


# Finding the file and the folder --------------------------------------------------------------------------------


def in_the_user_config_folder(folder: Path) -> Path:
    file = folder / "user-config" / "interlock" / "interlock.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("posture: observe")
    return file


def test_the_option_comes_first() -> None:
    Path("interlock.yaml").touch()
    assert find_file("option.yaml", {"INTERLOCK_CONFIG": "variable.yaml"}) == Path("option.yaml")


def test_the_variable_comes_second() -> None:
    Path("interlock.yaml").touch()
    assert find_file(None, {"INTERLOCK_CONFIG": "variable.yaml"}) == Path("variable.yaml")


def test_the_working_directory_comes_third(tmp_path: Path) -> None:
    in_the_user_config_folder(tmp_path)
    Path("interlock.yaml").touch()
    assert find_file(None, {}) == Path("interlock.yaml")


def test_the_user_config_folder_comes_last(tmp_path: Path) -> None:
    file = in_the_user_config_folder(tmp_path)
    assert find_file(None, {}) == file
    assert load(environ={}).settings.posture is Posture.OBSERVE


def test_there_may_be_no_file() -> None:
    assert find_file(None, {}) is None


def test_a_file_elsewhere_is_named_in_positions_as_it_was_given(tmp_path: Path) -> None:
    file = tmp_path / "team.yaml"
    file.write_text("postur: open")
    with pytest.raises(ConfigError) as caught:
        load(str(file), environ={})
    assert caught.value.problems == (f"{file}:1:1: unknown key 'postur'; did you mean 'posture'?",)


def test_the_configuration_knows_its_file() -> None:
    assert config_of("posture: open").file == Path("interlock.yaml")


# A text in no file ----------------------------------------------------------------------------------------------


def test_a_text_is_read_like_a_file_and_its_faults_are_named_after_it() -> None:
    config = load_text("posture: strict", "candidate", {"INTERLOCK_POSTURE": "open"})

    assert (config.settings.posture, config.file) == ("open", None)
    with pytest.raises(ConfigError) as refused:
        load_text("posture: gard", "candidate", {})
    assert refused.value.problems[0].startswith("candidate:1:10: ")
