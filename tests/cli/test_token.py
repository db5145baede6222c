"""`interlock token`: made once, shown once, revoked at once."""

import re
from pathlib import Path

import httpx2
import pytest

from interlock.receive.identify import OPERATOR
from tests.cli.running import Beside, Interlock
from tests.talking import NO_TLS

TOKEN = re.compile(r"il_[0-9a-f]+_[A-Za-z0-9_-]{20,}")


def test_a_token_stands_alone_on_stdout_and_how_to_use_it_on_stderr(il: Interlock, beside: Beside) -> None:
    done = il("token", "create", "--name", "ci", "--role", "agent")
    (token,) = done.lines

    assert done.exit == 0
    assert TOKEN.fullmatch(token)
    assert "Authorization: Bearer" in done.err
    assert "not shown again" in done.err
    assert token not in done.err
    assert token.split("_", 2)[2] not in done.err


def test_a_token_opens_the_door_until_it_is_revoked(il: Interlock, beside: Beside) -> None:
    made = il("token", "create", "--name", "watcher", "--role", "auditor", "--json").json
    url = f"http://{beside.running.host}/api/v1/activity"
    headers = {"Authorization": f"Bearer {made['token']}"}

    before = httpx2.get(url, headers=headers, verify=NO_TLS).status_code
    done = il("token", "revoke", made["id"])
    after = httpx2.get(url, headers=headers, verify=NO_TLS).status_code

    assert (before, after) == (200, 401)
    assert (done.exit, done.out) == (0, "")
    assert done.err == f"Token {made['id']} is revoked; nobody gets in with it any more.\n"


def test_everything_that_is_asked_for_is_in_the_token(il: Interlock, beside: Beside) -> None:
    words = "--name bot --role agent --role approver --kind service --owner operator --servers up,odd"
    more = "--tools read_*,list_* --ceiling write --ttl 30d --json"
    made = il("token", "create", *words.split(), *more.split()).json

    assert {name: made[name] for name in ("name", "kind", "roles", "owner", "servers", "tools", "ceiling")} == {
        "name": "bot",
        "kind": "service",
        "roles": ["agent", "approver"],
        "owner": "operator",
        "servers": ["up", "odd"],
        "tools": ["read_*", "list_*"],
        "ceiling": "write",
    }
    assert made["created_at"] < made["expires_at"]


def test_a_workspace_that_does_not_exist_is_refused(il: Interlock, beside: Beside) -> None:
    done = il("token", "create", "--name", "lost", "--role", "agent", "--workspace", "nowhere")

    assert done.exit == 2
    assert "workspace_id: there is no such workspace." in done.err


def test_an_empty_list_of_servers_is_no_server_and_not_every_server(il: Interlock, beside: Beside) -> None:
    made = il("token", "create", "--name", "shy", "--role", "agent", "--servers", "", "--json").json

    assert made["servers"] == []


def test_the_list_shows_everything_but_secrets(il: Interlock, beside: Beside) -> None:
    words = "--name lister --role agent --servers up --ceiling read --ttl 1h --json"
    made = il("token", "create", *words.split()).json
    il("token", "revoke", made["id"])
    done, as_json = il("token", "list"), il("token", "list", "--json")
    (row,) = [line for line in done.lines if made["id"] in line]

    assert done.lines[0].split() == "ID NAME KIND ROLES OWNER WORKSPACE LIMITS EXPIRES REVOKED".split()
    assert re.split(r"  +", row)[1:7] == ["lister", "agent", "agent", "operator", "-", "servers up; up to read"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", re.split(r"  +", row)[8])
    assert made["token"].split("_", 2)[2] not in done.out + as_json.out
    assert "hash" not in as_json.out
    assert as_json.json["items"][0]["name"] == OPERATOR


def test_every_change_is_on_record(il: Interlock, beside: Beside) -> None:
    made = il("token", "create", "--name", "noted", "--role", "agent", "--json").json
    il("token", "revoke", made["id"])
    changes = il("activity", "list", "--type", "token_change", "--limit", "2", "--json").json["items"]

    assert [(each["change"], each["token"], each["caller"]) for each in changes] == [
        ("revoked", made["id"], OPERATOR),
        ("created", made["id"], OPERATOR),
    ]
    assert made["token"].split("_", 2)[2] not in str(changes)


def test_a_lone_verb_makes_a_token_that_a_later_gateway_knows(il: Interlock) -> None:
    made = il("token", "create", "--name", "early", "--role", "agent", "--json").json

    assert [each["id"] for each in il("token", "list", "--json").json["items"]][1:] == [made["id"]]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("create", "--role", "agent"), "the following arguments are required: --name\n"),
        (("create", "--name", "x"), "the following arguments are required: --role\n"),
        (("create", "--name", "x", "--role", "boss"), "argument --role: invalid choice: 'boss'"),
        (("create", "--name", "x", "--role", "agent", "--ceiling", "all"), "argument --ceiling: invalid choice: 'all'"),
        (("create", "--name", "x", "--role", "agent", "--ttl", "soon"), "ttl: must be a duration such as 15m"),
        (("create", "--name", "operator", "--role", "agent"), "The name 'operator' is reserved"),
        (("create", "--name", "A B", "--role", "agent"), "name: "),
        (("revoke", "nothing"), "Token 'nothing' not found."),
        (("revoke", ""), "a name or an id is empty\n"),
        (("revoke",), "the following arguments are required: ID\n"),
    ],
)
def test_what_cannot_be_is_a_usage_error(il: Interlock, beside: Beside, words: tuple[str, ...], error: str) -> None:
    done = il("token", *words)

    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith(error)


def test_a_token_is_revoked_once(il: Interlock, beside: Beside) -> None:
    made = il("token", "create", "--name", "brief", "--role", "agent", "--json").json
    first, second = il("token", "revoke", made["id"], "--json"), il("token", "revoke", made["id"])

    assert first.json["id"] == made["id"]
    assert second.exit == 2
    assert second.err.startswith(f"Token '{made['id']}' was revoked before")


def test_no_token_is_left_in_the_data_folder_but_the_operators(il: Interlock, tmp_path: Path) -> None:
    data = tmp_path / "data"
    token = il("token", "create", "--name", "x", "--role", "agent", "--data-dir", str(data)).out.strip()
    secret = token.split("_", 2)[2].encode()

    assert [path.name for path in data.iterdir() if secret in path.read_bytes()] == []
