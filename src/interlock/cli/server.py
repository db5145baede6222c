"""`interlock server`: which servers there are, how each is doing, and what it last wrote to its stderr."""

from typing import Any

from interlock.cli.checkups.live import problem_of
from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.gateway import Api, through_gateway
from interlock.cli.render import note, print_json, print_lines, print_table
from interlock.cli.server_add import ADD, IMPORT
from interlock.errors import Exit


def _list(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        answer = await api.get("servers")
        if values.json:
            print_json(answer)
        else:
            print_servers(answer["items"])
        return Exit.OK

    return through_gateway(values, work, servers=True)


def print_servers(servers: list[dict[str, Any]]) -> None:
    """Servers as a table."""
    columns = ("id", "namespace", "transport", "health", "tools", "protocol_version", "trusted", "problem")
    print_table(
        ("SERVER", "NAMESPACE", "TRANSPORT", "HEALTH", "TOOLS", "PROTOCOL", "TRUSTED", "PROBLEM"),
        ([_cell({**each, "problem": problem_of(each)}[column]) for column in columns] for each in servers),
    )


def _cell(value: object) -> str:
    words = {True: "yes", False: "no"}
    return words[value] if isinstance(value, bool) else str(value)


def _logs_options(parser: Options) -> None:
    parser.add_argument("server", metavar="SERVER", help="the id or the namespace of a server")
    parser.add_argument("--limit", type=int, metavar="N", help="how many lines, at most (default: 200)")
    add_json(parser)


def _logs(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        answer = await api.get("servers", values.server, "logs", limit=values.limit)
        if values.json:
            print_json(answer)
        elif answer["items"]:
            print_lines(answer["items"])
        else:
            note(f"Server '{values.server}' wrote nothing to its stderr.")
        return Exit.OK

    return through_gateway(values, work, servers=True)


# Changes --------------------------------------------------------------------------------------------------------


def _named(parser: Options) -> None:
    parser.add_argument("server", metavar="SERVER", help="the id of a server")
    add_json(parser)


def _remove(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        answer = await api.delete("servers", values.server)
        if values.json:
            print_json(answer)
        else:
            print_lines([f"Server '{answer['id']}' was removed."])
        return Exit.OK

    return through_gateway(values, work)


def _change(values: Values, what: str, *, servers: bool) -> Exit:
    async def work(api: Api) -> Exit:
        answer = await api.post("servers", values.server, what, body={})
        if values.json:
            print_json(answer)
        else:
            why = f": {answer['problem']}" if answer["problem"] else ""
            print_lines([f"Server '{answer['id']}' is {answer['health']}{why}"])
        return Exit.UNREACHABLE if answer["health"] == "down" else Exit.OK

    return through_gateway(values, work, servers=servers)


def _enable(values: Values) -> Exit:
    return _change(values, "enable", servers=True)


def _disable(values: Values) -> Exit:
    return _change(values, "disable", servers=False)


def _restart(values: Values) -> Exit:
    return _change(values, "restart", servers=True)


VERBS = (
    Verb(
        "list",
        "List the servers: health, tools, transport, what is wrong.",
        add_json,
        _list,
        ("interlock server list", "interlock server list --json"),
    ),
    Verb(
        "logs",
        "Show what a server last wrote to its stderr.",
        _logs_options,
        _logs,
        ("interlock server logs github", "interlock server logs github --limit 20"),
    ),
    ADD,
    IMPORT,
    Verb(
        "remove",
        "Remove a server that was added. One that stands in the configuration file is removed there.",
        _named,
        _remove,
        ("interlock server remove github",),
    ),
    Verb(
        "enable",
        "Switch a server on.",
        _named,
        _enable,
        ("interlock server enable github",),
    ),
    Verb(
        "disable",
        "Switch a server off, also one of the configuration file. It stays off until it is switched on.",
        _named,
        _disable,
        ("interlock server disable github",),
    ),
    Verb(
        "restart",
        "Start a server anew, with its secrets read anew.",
        _named,
        _restart,
        ("interlock server restart github",),
    ),
)
