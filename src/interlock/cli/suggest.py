"""`interlock rule suggest`: rules worth writing, from what people approve again and again. It writes nothing."""

from typing import Any

from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.gateway import Api, through_gateway
from interlock.cli.render import counted, note, print_json, print_text, short_time
from interlock.errors import Exit


def _options(parser: Options) -> None:
    parser.add_argument("--since", metavar="T", help="how far back: 15m, 2h, 7d, or ISO 8601 (default: 30d)")
    add_json(parser)


def _suggest(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        told = await api.get("rules", "suggestions", since=values.since)
        if values.json:
            print_json(told)
        else:
            _print(told)
        return Exit.OK

    return through_gateway(values, work)


def _print(told: dict[str, Any]) -> None:
    if not told["complete"]:
        note("There are more approvals: only the newest were looked at.")
    if not told["items"]:
        note("Nothing is approved so often that a rule is worth its line.")
        return
    for each in told["items"]:
        who = ", ".join(each["approvers"])
        last = short_time(each["last"])
        print_text(f"# approved {counted(each['approved'], 'time')} by {who}, last {last}\n{each['yaml']}")
    note("Put what you agree with under route_rules, and see what it changes: interlock rule replay --config FILE")


VERB = Verb(
    "suggest",
    "Suggest rules for calls that were approved again and again; never for dangerous or unknown tools.",
    _options,
    _suggest,
    ("interlock rule suggest", "interlock rule suggest --since 7d --json"),
)
