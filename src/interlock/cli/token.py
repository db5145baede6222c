"""`interlock token`: credentials for agents, approvers, auditors and scripts.

A token is printed once, when it is made, alone on stdout so that it can be piped to where it belongs. It is stored
nowhere, here or in the gateway.
"""

from typing import Any

from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.gateway import Api, through_gateway
from interlock.cli.render import note, print_json, print_lines, print_table, short_time
from interlock.core.model import Json, OperationType
from interlock.errors import Exit

_CEILINGS = [each.value for each in OperationType]


# create ---------------------------------------------------------------------------------------------------------


def _create_options(parser: Options) -> None:
    from interlock.receive.identify import KINDS, ROLES

    parser.add_argument("--name", required=True, metavar="N", help="the principal it speaks for")
    parser.add_argument("--role", required=True, action="append", choices=ROLES, help="what it may do; repeatable")
    parser.add_argument("--kind", choices=KINDS, help="what the principal is (default: by its roles)")
    parser.add_argument("--owner", metavar="O", help="the person behind an agent (default: you)")
    parser.add_argument("--workspace", metavar="W", help="the workspace its calls are made in")
    parser.add_argument("--servers", type=_words, metavar="A,B", help="the servers it may reach (default: all)")
    parser.add_argument("--tools", type=_words, metavar="A,B", help="the tools it may reach (default: all)")
    parser.add_argument("--ceiling", choices=_CEILINGS, help="the most it may do (default: no limit)")
    parser.add_argument("--ttl", metavar="30d", help="how long it is valid (default: until it is revoked)")
    add_json(parser)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _create(values: Values) -> Exit:
    given: dict[str, Json] = {
        "name": values.name,
        "roles": list(dict.fromkeys(values.role)),
        "kind": values.kind,
        "owner": values.owner,
        "workspace_id": values.workspace,
        "servers": values.servers,
        "tools": values.tools,
        "ceiling": values.ceiling,
        "ttl": values.ttl,
    }
    body = {name: value for name, value in given.items() if value is not None}

    async def work(api: Api) -> Exit:
        made = await api.post("tokens", body=body)
        if values.json:
            print_json(made)
        else:
            print_lines([made["token"]])
        note(f"Token {made['id']} of '{made['name']}' is not shown again. Keep it where only its owner can read it.")
        note("Send it as the header `Authorization: Bearer …`, or set INTERLOCK_TOKEN for `interlock stdio`.")
        return Exit.OK

    return through_gateway(values, work)


# list -----------------------------------------------------------------------------------------------------------


def _list(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        answer = await api.get("tokens")
        if values.json:
            print_json(answer)
        else:
            print_table(
                ("ID", "NAME", "KIND", "ROLES", "OWNER", "WORKSPACE", "LIMITS", "EXPIRES", "REVOKED"),
                (_row(each) for each in answer["items"]),
            )
        return Exit.OK

    return through_gateway(values, work)


def _row(token: dict[str, Any]) -> tuple[str, ...]:
    return (
        token["id"],
        token["name"],
        token["kind"],
        ", ".join(token["roles"]),
        token["owner"] or "-",
        token["workspace_id"] or "-",
        _limits(token) or "-",
        short_time(token["expires_at"]),
        short_time(token["revoked_at"]),
    )


def _limits(token: dict[str, Any]) -> str:
    lists = [f"{name} {', '.join(token[name]) or 'none'}" for name in ("servers", "tools") if token[name] is not None]
    ceiling = [] if token["ceiling"] is None else [f"up to {token['ceiling']}"]
    return "; ".join(lists + ceiling)


# revoke ---------------------------------------------------------------------------------------------------------


def _revoke_options(parser: Options) -> None:
    parser.add_argument("id", metavar="ID", help="the id of the token, as `token list` shows it")
    add_json(parser)


def _revoke(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        revoked = await api.delete("tokens", values.id)
        if values.json:
            print_json(revoked)
        else:
            note(f"Token {revoked['id']} is revoked; nobody gets in with it any more.")
        return Exit.OK

    return through_gateway(values, work)


VERBS = (
    Verb(
        "create",
        "Make a token. It is printed once, on stdout.",
        _create_options,
        _create,
        (
            "interlock token create --name ci --role agent --servers github --ceiling write --ttl 30d",
            "interlock token create --name alice --role approver --role auditor",
            "interlock token create --name watcher --role approver --kind agent --json",
        ),
    ),
    Verb(
        "list",
        "List the tokens, revoked ones included; never their secrets.",
        add_json,
        _list,
        ("interlock token list", "interlock token list --json"),
    ),
    Verb(
        "revoke",
        "Revoke a token, at once and for good.",
        _revoke_options,
        _revoke,
        ("interlock token revoke 3f2a9c1b7d4e",),
    ),
)
