"""`interlock server add` and `interlock server import`: new servers, and what would become of their tools.

A server that is added is untrusted unless its operator says otherwise: what it says of its tools can only make them
stricter. On a terminal that is asked once, when it would matter; a script is never asked.
"""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from interlock import errors
from interlock.cli.clients.adopt import Adopted, Secret, adopt, is_ours
from interlock.cli.clients.file import servers_in, surroundings
from interlock.cli.clients.table import CLIENTS, files_of
from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.gateway import Api, through_gateway
from interlock.cli.inputs import bad, load_config
from interlock.cli.render import counted, note, print_json, print_lines, visible
from interlock.config.plain_secrets import plain_secrets
from interlock.config.roster import checked
from interlock.config.tree import Settings
from interlock.core.model import Json
from interlock.errors import Exit, InterlockError

# add ------------------------------------------------------------------------------------------------------------


def _add_options(parser: Options) -> None:
    parser.add_argument("id", metavar="ID", help="lower-case letters, digits and '-'")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--command", metavar="C", help="the command line that starts it, in quotes")
    where.add_argument("--url", metavar="U", help="where it listens")
    parser.add_argument("--env", action="append", default=[], metavar="K=V", help="for --command; repeatable")
    parser.add_argument("--header", action="append", default=[], metavar="K=V", help="for --url; repeatable")
    parser.add_argument("--trusted", action="store_true", help="believe what it says of its tools")
    parser.add_argument("--yes", action="store_true", help="ask nothing")
    add_json(parser)


def _add(values: Values) -> Exit:
    wanted: dict[str, Json] = {"id": values.id, **_definition(values)}
    ask = not (values.trusted or values.yes or values.json) and sys.stdin.isatty() and sys.stderr.isatty()

    async def work(api: Api) -> Exit:
        answer = await api.post("servers", body=wanted)
        if values.json:
            print_json(answer)
            return _exit(answer)
        _tell(answer)
        if ask and _held(answer) and _asked(answer):
            await api.delete("servers", values.id)
            answer = await api.post("servers", body={**wanted, "trusted": True})
            _tell(answer)
        return _exit(answer)

    return through_gateway(values, work, servers=True)


def _definition(values: Values) -> dict[str, Json]:
    definition: dict[str, Json] = {"trusted": True} if values.trusted else {}
    env, headers = _pairs("--env", values.env), _pairs("--header", values.header)
    definition |= {"env": env} if env else {}
    definition |= {"headers": headers} if headers else {}
    if values.url is not None:
        return {"url": values.url, **definition}
    try:
        command, *arguments = shlex.split(values.command)
    except ValueError:
        raise bad("--command is no command line", "Close its quotes and name a program.") from None
    return {"command": command, "args": list[Json](arguments), **definition}


def _pairs(option: str, given: Sequence[str]) -> dict[str, Json]:
    pairs: dict[str, Json] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            # What was given is not repeated: it may be a secret.
            raise bad(f"a value of {option} has no '='", f"Write {option} NAME=VALUE.")
        pairs[name] = value
    return pairs


def _tell(answer: Mapping[str, Any]) -> None:
    server, tools = answer["server"], answer["tools"]
    told = server["health"] + (f": {server['problem']}" if server["problem"] else "")
    lines = [f"Server '{server['id']}' is {told.removesuffix('.')}."]
    if tools["total"]:
        classes = ", ".join(f"{count} {name}" for name, count in tools["by_class"].items())
        verdicts = ", ".join(f"{count} {name}" for name, count in tools["by_verdict"].items())
        lines += [f"{counted(tools['total'], 'tool')}: {classes}.", f"Calls would be: {verdicts}."]
    print_lines(lines)


def _held(answer: Mapping[str, Any]) -> int:
    return answer["tools"]["by_verdict"].get("hold", 0) + answer["tools"]["by_verdict"].get("deny", 0)


def _asked(answer: Mapping[str, Any]) -> bool:
    name = visible(answer["server"]["id"])
    sys.stderr.write(f"{_held(answer)} would be held or denied. Believe what '{name}' says of its tools? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _exit(answer: Mapping[str, Any]) -> Exit:
    return Exit.OK if answer["server"]["health"] in ("ready", "stopped") else Exit.UNREACHABLE


# import ---------------------------------------------------------------------------------------------------------


def _import_options(parser: Options) -> None:
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("file", nargs="?", metavar="FILE", help="a file of a client, JSON or TOML")
    where.add_argument("--from", dest="client", choices=sorted(CLIENTS), help="a client whose files are looked for")
    parser.add_argument("--dry-run", action="store_true", help="show what would be added, add nothing")
    add_json(parser)


def _import(values: Values) -> Exit:
    adopted = _adopted(values)
    if values.dry_run:
        settings = load_config(values).settings
        return _print([_foreseen(settings, each) for each in adopted], as_json=values.json)

    async def work(api: Api) -> Exit:
        return _print([await _added(api, each) for each in adopted], as_json=values.json)

    return through_gateway(values, work, servers=True)


def _adopted(values: Values) -> list[Adopted]:
    around = surroundings()
    files = [Path(values.file)] if values.file else files_of(CLIENTS[values.client], around)
    if not files:
        raise bad(f"no file of {values.client} was found", "Give the file: `interlock server import FILE`.")
    found: dict[str, Adopted] = {}
    for file in files:
        for name, entry in servers_in(file, around.here).items():
            if is_ours(entry):
                note(f"'{name}' is Interlock itself and was left out.")
                continue
            each = adopt(name, entry)
            found.setdefault(each.id, each)
    return list(found.values())


def _foreseen(settings: Settings, adopted: Adopted) -> dict[str, Any]:
    """What would become of it, as far as that is known without a gateway: one that was added before is not."""
    if plain_secrets(adopted.definition):
        return _report(adopted, "")
    if adopted.id in settings.servers:
        exists = errors.SERVER_EXISTS(id=adopted.id, where="in the configuration file")
        return _report(adopted, "", exists.text)
    try:
        checked(settings, adopted.id, adopted.definition)
    except InterlockError as refused:
        return _report(adopted, "", refused.reason.text)
    return _report(adopted, "would be added")


async def _added(api: Api, adopted: Adopted) -> dict[str, Any]:
    try:
        answer = await api.post("servers", body={"id": adopted.id, **adopted.definition})
    except InterlockError as refused:
        return _report(adopted, "", refused.reason.text)
    tools = answer["tools"]
    told = answer["server"]["problem"] or f"{counted(tools['total'], 'tool')}, {_held(answer)} held or denied"
    return _report(adopted, f"added: {told}")


def _report(adopted: Adopted, done: str, problem: str = "") -> dict[str, Any]:
    places = ", ".join(plain_secrets(adopted.definition))
    return {
        "id": adopted.id,
        "imported": bool(done),
        "told": done or problem or f"{places}: looks like a secret, which cannot be imported",
        "definition": adopted.definition if not places else None,
        "variables": list(dict.fromkeys(adopted.variables)),
        "missing": [each for each in dict.fromkeys(adopted.variables) if each not in os.environ],
        "remarks": [*map(_not_imported, adopted.secrets), *adopted.remarks],
    }


def _not_imported(secret: Secret) -> str:
    return f"{secret.place} holds a secret, which was not imported: set {secret.variable} for the gateway"


def _print(report: Sequence[Mapping[str, Any]], *, as_json: bool) -> Exit:
    whole = all(each["imported"] for each in report)
    if as_json:
        print_json({"items": [dict(each) for each in report], "total": len(report)})
    for each in () if as_json else report:
        print_lines([f"{each['id']}: {each['told']}", *(f"  {remark}" for remark in each["remarks"])])
        if each["missing"]:
            print_lines([f"  not set here: {', '.join(each['missing'])}"])
    return Exit.OK if whole else Exit.FINDINGS


ADD = Verb(
    "add",
    "Add a server, and see how many of its tools would be held.",
    _add_options,
    _add,
    (
        "interlock server add files --command 'npx -y @modelcontextprotocol/server-filesystem /srv'",
        "interlock server add github --url https://host/mcp --header 'Authorization=Bearer ${env:GH_TOKEN}'",
    ),
)
IMPORT = Verb(
    "import",
    "Add the servers that an MCP client knows. Exit 20 when some were not.",
    _import_options,
    _import,
    (
        "interlock server import --from claude-desktop --dry-run",
        "interlock server import .vscode/mcp.json",
    ),
)
