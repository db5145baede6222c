"""The copy decides as the user's gateway would, and reaches nothing of the user's."""

from pathlib import Path

import pytest

from interlock.app.compiled import policy_of, upstreams_of
from interlock.app.gateway import running_gateway
from interlock.cli.checkups.prove.copy import GENERIC, Copy, copy_of
from interlock.core.drift import Reviewed, definition_of
from interlock.core.lifecycle import CallState
from interlock.core.safety import SafetyClass
from interlock.store.protocol import Activity, ActivityType, KeptServer
from tests.cli.checkups.prove.boxes import user_of
from tests.postgres_server import PostgresServer
from tests.running import config_of

TEXT = """
posture: strict
listen: {host: 127.0.0.1, port: 7400}
record: {anchor: /nowhere/anchor.jsonl}
hold: {approvals_needed: 2, approvers: [alice]}
limits: {calls_per_minute: 7}
notices: {command: 'notify-somebody', webhooks: [{url: 'https://hooks.example/x'}]}
identity: {jwt: {issuer: 'https://issuer.example', audience: il, jwks_url: 'https://issuer.example/keys'}}
auth_scopes: {prod: {env: {KEY: '${env:PROD_KEY}'}}}
servers:
  files: {command: /opt/files, args: [--all], env: {TOKEN: '${env:TOKEN}'}, cwd: /srv, trusted: true, posture: open}
  far: {url: 'https://far.example/mcp', headers: {Authorization: 'Bearer ${env:FAR}'}, namespace: f}
  off: {command: /opt/off, enabled: false}
route_rules: [{id: ask, server_id: files, effect: hold, auth_scope_id: prod}]
overrides: {'files:odd': dangerous}
"""


def address(name: str) -> str:
    return f"http://127.0.0.1:1/{name}/mcp"


@pytest.fixture
def copied(tmp_path: Path) -> Copy:
    return copy_of(config_of(tmp_path, TEXT), user_of(tmp_path), address)


def test_no_server_of_the_user_can_be_reached_and_no_secret_goes_along(copied: Copy) -> None:
    specs = {each.id: each for each in upstreams_of(copied.config, {})}

    assert {name: each.url for name, each in specs.items()} == {
        name: address(name) for name in ("files", "far", "proof", "proof-2")
    }
    assert all(
        (each.argv, each.env, each.headers, each.cwd, each.unusable) == ((), {}, {}, None, "")
        for each in specs.values()
    )
    assert not any(each.scopes["prod"].env for each in specs.values())


def test_nobody_is_told_and_nothing_is_written_elsewhere(copied: Copy) -> None:
    settings = copied.config.settings

    assert (settings.notices.command, settings.notices.webhooks) == (None, [])
    assert (settings.record.anchor, copied.config.file) == (None, None)


def test_the_database_of_the_user_is_left_alone(tmp_path: Path) -> None:
    config = config_of(tmp_path, "store: postgresql://db.example/interlock")

    assert copy_of(config, user_of(tmp_path), address).config.settings.store == "sqlite"


def test_the_issuer_is_the_same_and_its_keys_are_those_of_the_sandbox(copied: Copy) -> None:
    jwt = copied.config.settings.identity.jwt

    assert jwt is not None
    assert (jwt.issuer, jwt.audience, jwt.jwks_url) == ("https://issuer.example", "il", address("KEYS"))


def test_what_decides_is_as_it_was(tmp_path: Path, copied: Copy) -> None:
    config = config_of(tmp_path, TEXT)
    mine, theirs = policy_of(copied.config), policy_of(config)

    assert (mine.entry, mine.hold, mine.limits, mine.withhold) == (
        theirs.entry,
        theirs.hold,
        theirs.limits,
        theirs.withhold,
    )
    assert (copied.config.rules, copied.config.settings.overrides) == (config.rules, config.settings.overrides)
    assert mine.postures_of_servers == {**theirs.postures_of_servers, "proof": "open"}
    assert {each.id: (each.trusted, each.namespace) for each in upstreams_of(copied.config, {})}["far"] == (False, "f")


def test_without_a_database_each_server_lists_a_few_tools(copied: Copy) -> None:
    assert dict(copied.tools) == dict.fromkeys(("files", "far", "proof", "proof-2"), GENERIC)
    assert copied.notes == ()


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_what_was_reviewed_set_and_added_is_taken_over(
    tmp_path: Path, request: pytest.FixtureRequest, store: str
) -> None:
    if store == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        store = server.address(await server.new_database())
    config = config_of(tmp_path, f"store: '{store}'{TEXT}")
    why = Activity("a", 1, ActivityType.SYSTEM, CallState.SUCCESS, {})
    reviewed = {"search": Reviewed(definition_of('{"description":"d","name":"search"}')), "gone": Reviewed(None)}
    with user_of(tmp_path).hold() as hold:
        async with running_gateway(config, hold, servers=False, environ={}) as gateway:
            await gateway.store.begin_baseline("files", reviewed, why)
            await gateway.store.put_override("files", "search", SafetyClass.UNKNOWN, why)
            await gateway.store.put_server("added", KeptServer(True, {"command": "/opt/added"}), why)
            await gateway.store.put_server("odd", KeptServer(True, {"colour": "blue"}), why)
            await gateway.store.put_server("far", KeptServer(False), why)
    found = copy_of(config, user_of(tmp_path), address)

    assert dict(found.tools) == {
        "files": [{"description": "d", "name": "search"}],
        **dict.fromkeys(("added", "proof", "proof-2"), GENERIC),
    }
    assert found.config.settings.overrides == {"files:odd": "dangerous", "files:search": "unknown"}
    assert found.notes == ("The server 'odd' that was added does not fit any more and is left out.",)


@pytest.mark.sqlite("the file is no database")
def test_a_database_that_cannot_be_read_is_said_to_be(tmp_path: Path) -> None:
    user_of(tmp_path).path.mkdir()
    user_of(tmp_path).database.write_bytes(b"no database at all")
    found = copy_of(config_of(tmp_path), user_of(tmp_path), address)

    assert (found.notes[0].startswith("What is known of the servers could not be read"), set(found.tools)) == (
        True,
        {"proof"},
    )


def test_our_servers_take_no_name_of_the_users(tmp_path: Path) -> None:
    text = "servers: {proof: {command: x}, proof-2: {command: x, trusted: true}}\n"
    found = copy_of(config_of(tmp_path, text), user_of(tmp_path), address)

    assert found.own == {"proof-3": ("proof",), "proof-4": ("proof-2",)}


def test_there_is_one_of_ours_for_each_trust_and_posture_of_the_users(tmp_path: Path) -> None:
    kinds = ("trusted: true, posture: open", "posture: open", "trusted: true, posture: open")
    text = f"servers: {{{', '.join(f's{at}: {{command: x, {each}}}' for at, each in enumerate(kinds))}}}\n"
    found = copy_of(config_of(tmp_path, text), user_of(tmp_path), address)
    servers = found.config.settings.servers

    assert found.own == {"proof": ("s0", "s2"), "proof-2": ("s1",)}
    assert [(servers[name].trusted, servers[name].posture) for name in found.own] == [(True, "open"), (False, "open")]


def test_without_servers_there_is_one_as_the_sample_is(tmp_path: Path) -> None:
    found = copy_of(config_of(tmp_path), user_of(tmp_path), address)

    assert (dict(found.own), found.config.settings.servers["proof"].trusted) == ({"proof": ()}, False)
