"""What the configuration means to the parts."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from interlock.app.compiled import (
    anchor_of,
    collector_headers,
    overrides_of,
    policy_of,
    secrets_of,
    store_address,
    upstreams_of,
)
from interlock.core.intent import IntentMode
from interlock.core.safety import Posture, SafetyClass
from interlock.errors import ConfigError
from interlock.forward.upstream import Scope, UpstreamSpec
from tests.running import config_of

TEXT = """
posture: strict
intent_declaration: {mode: inferred, strict_server_validation: false}
hold: {approvals_needed: 2}
workspaces: [{id: prod, posture: open}, {id: dev}]
servers:
  local: {command: prog, args: [-x], env: {T: "${env:SECRET}"}, cwd: /srv, posture: observe, call_timeout: 5}
  far: {url: "https://h/mcp", namespace: ns, headers: {A: "Bearer ${env:SECRET}"}, trusted: true}
  off: {command: prog, enabled: false}
overrides: {"local:a": read-only, "local:b": dangerous, "far:a": unknown}
route_rules: [{id: r, effect: deny}]
"""


def test_the_policy_is_what_the_file_says(tmp_path: Path) -> None:
    policy = policy_of(config_of(tmp_path, TEXT))

    assert [each.rule.id for each in policy.rules.rules] == ["r"]
    assert policy.entry.posture is Posture.STRICT
    assert (policy.entry.intent.mode, policy.entry.intent.strict_server_validation) == (IntentMode.INFERRED, False)
    assert policy.hold.approvals_needed == 2
    assert policy.postures_of_workspaces == {"prod": Posture.OPEN}
    assert policy.postures_of_servers == {"local": Posture.OBSERVE}


def test_the_upstreams_are_the_enabled_servers_with_their_references_resolved(tmp_path: Path) -> None:
    specs = upstreams_of(config_of(tmp_path, TEXT), {"SECRET": "s3"})

    assert specs == [
        UpstreamSpec("local", "local", ("prog", "-x"), None, {"T": "s3"}, {}, "/srv", False, 5.0),
        UpstreamSpec("far", "ns", (), "https://h/mcp", {}, {"A": "Bearer s3"}, None, True, 120.0),
    ]


def test_auth_scopes_limits_and_sessions_go_along_with_the_servers(tmp_path: Path) -> None:
    text = """
servers:
  a: {command: prog, env: {T: own, U: own}, auth_scope_id: prod, max_concurrent: 3, sessions: per-caller}
  b: {url: "https://h/mcp"}
auth_scopes:
  prod: {env: {T: "${env:SECRET}"}}
  test: {headers: {X: "Bearer ${env:SECRET}"}}
"""
    a, b = upstreams_of(config_of(tmp_path, text), {"SECRET": "s3"})
    scopes = {"prod": Scope(env={"T": "s3"}), "test": Scope(headers={"X": "Bearer s3"})}

    assert (a.env, a.max_concurrent, a.per_caller, a.scopes) == ({"T": "s3", "U": "own"}, 3, True, scopes)
    assert (b.headers, b.max_concurrent, b.per_caller, b.scopes) == ({}, None, False, scopes)


def test_a_reference_that_leads_nowhere_stops_that_one_server(tmp_path: Path) -> None:
    local, far = upstreams_of(config_of(tmp_path, TEXT), {})

    assert local.unusable.startswith("servers.local.env.T: the environment variable SECRET is not set. Give it to")
    assert far.unusable.startswith("servers.far.headers.A: the environment variable SECRET is not set")
    assert not local.env


def test_an_auth_scope_that_leads_nowhere_stops_only_those_that_need_it(tmp_path: Path) -> None:
    text = """
servers: {a: {command: prog, auth_scope_id: gone}, b: {command: prog}}
auth_scopes: {gone: {env: {T: "${env:NONE}"}}}
"""
    first, second = upstreams_of(config_of(tmp_path, text), {})

    assert first.unusable.startswith("auth_scopes.gone.env.T: the environment variable NONE is not set")
    assert (second.unusable, dict(second.scopes)) == ("", {})


def test_without_servers_there_is_the_sample(tmp_path: Path) -> None:
    (spec,) = upstreams_of(config_of(tmp_path), {})

    assert (spec.id, spec.argv[1:]) == ("sample", ("-m", "interlock.lab.sample"))


def test_overrides_are_kept_by_server(tmp_path: Path) -> None:
    assert overrides_of(config_of(tmp_path, TEXT)) == {
        "local": {"a": SafetyClass.READ_ONLY, "b": SafetyClass.DANGEROUS},
        "far": {"a": SafetyClass.UNKNOWN},
    }


def test_what_notices_are_signed_with_is_a_secret(tmp_path: Path) -> None:
    text = "notices: {webhooks: [{url: 'https://x.test/', secret: '${env:HOOK}'}, {url: 'https://y.test/'}]}"

    assert "open sesame" in secrets_of(config_of(tmp_path, text), {"HOOK": "open sesame"})


def test_what_a_collector_is_sent_along_is_resolved_and_a_secret(tmp_path: Path) -> None:
    text = "telemetry: {endpoint: 'http://c:4318', headers: {X-Key: '${env:KEY}', authorization: of-the-file}}"
    config, variables = config_of(tmp_path, text), {"KEY": "of-the-collector"}

    assert collector_headers(config, variables) == {"X-Key": "of-the-collector", "authorization": "of-the-file"}
    assert secrets_of(config, variables) == {"of-the-collector", "of-the-file"}
    with pytest.raises(ConfigError, match=r"telemetry\.headers\.X-Key"):
        collector_headers(config, {})


def test_what_is_given_under_a_name_of_a_secret_is_one_although_it_stands_in_the_file(tmp_path: Path) -> None:
    text = "servers: {a: {command: x, env: {API_KEY: suite-secret-123, MODE: not-so-secret}}}"

    assert secrets_of(config_of(tmp_path, text), {}) == {"suite-secret-123"}


@pytest.mark.parametrize("password", ["suite-secret-123", "${env:DB}"])
def test_the_password_of_the_database_is_a_secret(tmp_path: Path, password: str) -> None:
    config, variables = config_of(tmp_path, f"store: 'postgresql://u:{password}@db/x'"), {"DB": "suite-secret-123"}

    assert secrets_of(config, variables) == {"suite-secret-123"}
    assert store_address(config, variables) == "postgresql://u:suite-secret-123@db/x"


ODD = "p@ss/w#r?d%41:x +ä"


@pytest.mark.parametrize(
    ("address", "found"),
    [
        (
            "${env:U}:${env:P}@db/x?y=${env:Q}",
            {"user": ODD, "password": ODD, "host": "db", "path": "/x", "query": "y=a/b"},
        ),
        ("u:a%20${file:{file}}@db/x", {"user": "u", "password": f"a {ODD}", "host": "db", "path": "/x", "query": ""}),
        ("${env:H}/x?y=a@b", {"user": None, "password": None, "host": "db", "path": "/x", "query": "y=a@b"}),
    ],
)
def test_a_user_and_a_password_by_reference_are_taken_literally(
    tmp_path: Path, address: str, found: dict[str, str | None]
) -> None:
    (tmp_path / "pw").write_text(f"{ODD}\n", encoding="utf-8")
    text = f"store: 'postgresql://{address.replace('{file}', str(tmp_path / 'pw'))}'"
    variables = {"U": ODD, "P": ODD, "Q": "a/b", "H": "db"}
    parts = urlsplit(store_address(config_of(tmp_path, text), variables))
    user, password = (None if each is None else unquote(each) for each in (parts.username, parts.password))

    assert found == {
        "user": user,
        "password": password,
        "host": parts.hostname,
        "path": parts.path,
        "query": parts.query,
    }


def test_an_address_that_is_none_has_no_password(tmp_path: Path) -> None:
    assert secrets_of(config_of(tmp_path, "store: 'postgresql://u:p@[db/x'"), {}) == set()


@pytest.mark.parametrize(
    ("given", "file"),
    [("", "data/anchor.jsonl"), ("seals/a", "seals/a"), ("/mnt/a", "/mnt/a"), ("~/a", "~/a")],
)
def test_an_anchor_is_found_from_wherever_one_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, file: str
) -> None:
    config = config_of(tmp_path, f"record: {{anchor: {given}}}")
    monkeypatch.chdir("/")

    assert anchor_of(config, tmp_path / "data") == tmp_path / Path(file).expanduser()
