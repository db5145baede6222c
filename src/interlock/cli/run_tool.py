"""`interlock run-tool`: one tool, one gate, two flags.

The class gate comes first and needs no server, so a blocked tool is blocked at once. What passes it goes through the
gateway, where it is decided again with what its server says of it. `--dry-run` shows the decision without any server
and names what only a running one could tell.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from interlock.cli.calling import send
from interlock.cli.coerce import coerced
from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.gateway import Api, through_gateway
from interlock.cli.inputs import load_config, parse_args, split_tool
from interlock.cli.lookup import find_tool
from interlock.cli.render import print_error, print_json, print_lines, reason_as_json
from interlock.cli.situation import OPERATOR_AGENT, classify_name, facts_of, known_tool, workspace_of
from interlock.core.classify import classify, read_descriptor
from interlock.core.decide import KnownTool, RunToolEntry, decide, run_tool_block
from interlock.core.model import Caller, Json, Tool
from interlock.core.redact import redact
from interlock.core.safety import RunToolFlags
from interlock.errors import Exit, InterlockError, Reason

if TYPE_CHECKING:
    from interlock.config.load import Config


_NOWHERE = "?"
"""The server of a tool when none is named and none is configured; no rule can name it."""


def _options(parser: Options) -> None:
    parser.add_argument("name", metavar="NAME", help="the tool: a bare name, or server:tool")
    parser.add_argument("--arg", action="append", default=[], metavar="K=V", help="an argument; repeat for more")
    parser.add_argument("--approve", action="store_true", help="run a write-capable or subprocess tool")
    parser.add_argument("--dangerous", action="store_true", help="run a dangerous tool; implies --approve")
    parser.add_argument("--dry-run", action="store_true", help="show the decision, contact no server, exit 0")
    add_json(parser)


def _run(values: Values) -> Exit:
    server, tool = split_tool(values.name)
    arguments = parse_args(values.arg)
    flags = RunToolFlags(approve=values.approve, dangerous=values.dangerous)
    if values.dry_run:
        return _dry_run(load_config(values), server, tool, arguments, flags, as_json=values.json)
    blocked = run_tool_block(tool, classify(read_descriptor({"name": tool})).prefix, flags)
    if blocked is not None:
        return print_error(blocked, as_json=values.json)
    return _live(values, arguments, flags)


def _live(values: Values, arguments: dict[str, Json], flags: RunToolFlags) -> Exit:
    async def work(api: Api) -> Exit:
        found = await find_tool(api, values.name)
        # A tool that its server does not have is sent too: the path refuses it and puts that on record.
        schema = None if isinstance(found.detail, InterlockError) else found.detail["input_schema"]
        body: dict[str, Json] = {
            "arguments": coerced(arguments, schema or {}),
            "entry": "run-tool",
            "approve": flags.approve,
            "dangerous": flags.dangerous,
        }
        return await send(api, found.server, found.tool, body, as_json=values.json)

    # Others reach this gateway too, if it is our own: a rule may have the call approved first.
    return through_gateway(values, work, servers=True, listen=True)


def _dry_run(
    config: "Config",
    server: str | None,
    tool: str,
    arguments: dict[str, Json],
    flags: RunToolFlags,
    *,
    as_json: bool,
) -> Exit:
    candidates = _candidates(config, server, tool)
    caller = Caller(OPERATOR_AGENT, workspace_of(config, None))
    entry = RunToolEntry(flags)
    verdicts = [decide(facts_of(config, each, entry, caller, arguments)) for each in candidates]
    verdict = max(verdicts, key=lambda each: each.effect.rank)
    found = candidates[verdicts.index(verdict)]
    not_checked = [
        "whether a server has this tool, and its own safety_class metadata",
        "the arguments against the tool's input schema (values stay texts)",
        "freeze, quarantine and grants",
    ]
    if len(candidates) > 1:
        named = ", ".join(each.tool.server for each in candidates)
        not_checked.append(f"which server has it: the verdict is the strictest over {named}")
    report: dict[str, Json] = {
        "tool": tool,
        "server": found.tool.server if len(candidates) == 1 and found.tool.server != _NOWHERE else None,
        "args": redact(arguments),
        "safety_class": found.classification.prefix,
        "source": found.classification.prefix_source,
        "verdict": verdict.effect,
        "rule_id": verdict.ground.id,
        "reasons": [reason_as_json(reason) for reason in verdict.reasons],
        "not_checked": not_checked,
        "would_execute": False,
    }
    if as_json:
        print_json(report)
    else:
        print_lines(_lines(report, verdict.reasons, not_checked))
    return Exit.OK


def _candidates(config: "Config", server: str | None, tool: str) -> list[KnownTool]:
    """The tool on its server, or on each server that could have it."""
    servers = tuple(config.settings.servers)
    if not servers:
        name = server or _NOWHERE
        return [KnownTool(Tool(name, name, tool), classify_name(config, tool))]
    return [known_tool(config, each, tool) for each in ((server,) if server else servers)]


def _lines(report: dict[str, Json], reasons: Iterable[Reason], not_checked: Iterable[str]) -> Iterable[str]:
    server = f"{report['server']}:" if report["server"] else ""
    yield f"Tool:     {server}{report['tool']}"
    yield f"Class:    {report['safety_class']} (from its {report['source']})"
    arguments = report["args"]
    if isinstance(arguments, dict) and arguments:
        yield "Args:"
        for key, value in arguments.items():
            yield f"  {key} = {value}"
    else:
        yield "Args:     none"
    yield f"Verdict:  {report['verdict']}"
    for reason in reasons:
        yield f"  {reason.text}"
    yield "Not checked without a server:"
    for each in not_checked:
        yield f"  {each}"
    yield "Nothing was sent."


VERB = Verb(
    "run-tool",
    "Run one tool. Read-only tools run; the others need --approve or --dangerous; unknown ones never run.",
    _options,
    _run,
    (
        "interlock run-tool read_repo_file --arg path=README.md",
        "interlock run-tool update_repo_file --arg path=README.md --arg old=x --arg new=y --approve --dry-run",
        "interlock run-tool devices:remove_device --arg Id=42 --dangerous",
    ),
)
