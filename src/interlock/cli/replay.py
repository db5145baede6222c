"""`interlock rule replay`: what the rules, or a candidate for them, would have changed over the calls of the record."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.gateway import Api, through_gateway
from interlock.cli.inputs import bad
from interlock.cli.render import counted, note, print_json, print_table, short_time
from interlock.core.model import Json
from interlock.errors import Exit


def _options(parser: Options) -> None:
    parser.add_argument("--since", default="7d", metavar="T", help="how far back: 15m, 2h, 7d, or ISO 8601")
    add_json(parser)


def _replay(values: Values) -> Exit:
    body: dict[str, Json] = {"since": values.since}
    if values.config is not None:
        body["config"] = _text(values.config)

    async def work(api: Api) -> Exit:
        told = await api.post("rules", "replay", body=body)
        if values.json:
            print_json(told)
        else:
            _print(told, candidate=values.config is not None)
        return Exit.OK

    return through_gateway(values, work)


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise bad(f"{file}: is not UTF-8 text", "Save the candidate as UTF-8.") from None
    except OSError as error:
        raise bad(f"{file}: cannot be read: {error.strerror}", "Check the path of the candidate.") from None


def _print(told: dict[str, Any], *, candidate: bool) -> None:
    what = "the candidate" if candidate else "what is in force"
    since = short_time(told["since"])
    note(f"{counted(told['calls'], 'call')} since {since} replayed with {what}; nothing was called.")
    if told["skipped"]:
        note(f"Left out, because no rule decided them: {told['skipped']}.")
    if not told["complete"]:
        note("There are more: only the newest were replayed. Choose a shorter time with --since.")
    if not told["changed"]:
        note("Nothing would change.")
        return
    for change, count in told["counts"].items():
        note(f"Would change: {count} {change}")
    print_table(("WHEN", "TOOL", "CALLER", "WAS", "BY", "WOULD BE", "BY", "ID"), _rows(told["items"]))
    if told["changed"] > len(told["items"]):
        note(f"These are the newest {len(told['items'])}.")
    if not all(each["exact"] for each in told["items"]):
        note("* Something in the arguments was hidden: a rule that looks at it may decide otherwise.")


def _rows(items: Iterable[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    for each in items:
        before, after = each["before"], each["after"]
        tool = each["tool"] if each["exact"] else f"{each['tool']} *"
        was, would = (before["verdict"], before["rule_id"]), (after["verdict"], after["rule_id"])
        yield short_time(each["at"]), tool, each["caller"] or "-", *was, *would, each["activity_id"]


VERB = Verb(
    "replay",
    "Say what would have changed over the recorded calls: by what is in force, or by a candidate (--config). Calls "
    "nothing.",
    _options,
    _replay,
    (
        "interlock rule replay --since 7d",
        "interlock rule replay --since 7d --config candidate.yaml",
        "interlock rule replay --config candidate.yaml --json",
    ),
)
