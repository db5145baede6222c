"""`interlock grant`: what approvals became, while it is still good, and taking it back.

A grant is listed until it is used up, revoked or over. What ran by it has run; revoking ends what is still to come.
"""

from collections.abc import Mapping
from typing import Any

from interlock import errors
from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.gateway import Api, through_gateway
from interlock.cli.lookup import by_part
from interlock.cli.render import note, print_json, print_table, short_time
from interlock.errors import Exit, InterlockError


def _list(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        answer = await api.get("grants")
        if values.json:
            print_json(answer)
        elif not answer["items"]:
            note("No grant is good now.")
        else:
            columns = ("ID", "CALLER", "TOOL", "SCOPE", "USES", "GIVEN BY", "UNTIL")
            print_table(columns, (_row(each) for each in answer["items"]))
        return Exit.OK

    return through_gateway(values, work)


def _row(grant: Mapping[str, Any]) -> tuple[str, ...]:
    left = grant["uses_left"]
    return (
        grant["id"],
        grant["caller"],
        f"{grant['server']}:{grant['tool']}",
        grant["scope"],
        f"{grant['uses']}{'' if left is None else f', {left} left'}",
        ", ".join(grant["given_by"]),
        short_time(grant["expires_at"]),
    )


def _revoke_options(parser: Options) -> None:
    parser.add_argument("id", metavar="ID", help="the id of a grant, or 4 characters of its beginning or end")
    add_json(parser)


def _revoke(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        items = (await api.get("grants"))["items"]
        chosen = by_part(values.id, [each["id"] for each in items], "grant")
        if chosen is None:
            raise InterlockError(
                errors.NOT_FOUND(what=f"Grant '{values.id}'", suggestion=" No such grant is good now.")
            )
        revoked = await api.delete("grants", chosen)
        if values.json:
            print_json(revoked)
        note(f"Grant {chosen} is revoked; no call passes by it any more.")
        return Exit.OK

    return through_gateway(values, work)


VERBS = (
    Verb(
        "list",
        "List the grants that are good now.",
        add_json,
        _list,
        ("interlock grant list", "interlock grant list --json"),
    ),
    Verb(
        "revoke",
        "Take a grant back, at once.",
        _revoke_options,
        _revoke,
        ("interlock grant revoke 3f2a",),
    ),
)
