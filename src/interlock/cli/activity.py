"""`interlock activity`: what happened, newest first, one record in full, as it happens, counted and exported.

Read only: nothing here can change the record. What agents and servers wrote is in it, so all of it is printed made
visible.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from interlock.cli import export, stats
from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.filters import add_filters, query_of
from interlock.cli.gateway import Api, through_gateway
from interlock.cli.inputs import bad
from interlock.cli.render import note, print_json, print_lines, print_table, short_time
from interlock.cli.watching import tail
from interlock.core.model import Json
from interlock.errors import Code, Exit, InterlockError

_SEARCHED = 500
"""Among so many of the newest records the beginning of an id is looked for; it is the largest page."""
_SHOWN = 5


# list -----------------------------------------------------------------------------------------------------------


def _list_options(parser: Options) -> None:
    add_filters(parser)
    parser.add_argument("--limit", type=int, metavar="N", help="how many, at most (default: 50)")
    parser.add_argument("--cursor", metavar="C", help="where the page before ended")
    add_json(parser)


def _list(values: Values) -> Exit:
    query = query_of(values)

    async def work(api: Api) -> Exit:
        page = await api.get("activity", **query, limit=values.limit, cursor=values.cursor)
        _print_page(page, as_json=values.json)
        return Exit.OK

    return through_gateway(values, work)


def _print_page(page: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(page)
        return
    if not page["items"]:
        note("Nothing on record fits.")
        return
    print_table(
        ("WHEN", "STATUS", "WHAT", "CLASS", "VERDICT", "CALLER", "ID"),
        (_row(each) for each in page["items"]),
    )
    if page["next"] is not None:
        note(f"There is more: add --cursor {page['next']}")


def _row(activity: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        short_time(activity["at"]),
        activity["status"],
        _what(activity),
        activity["safety_class"] or "-",
        activity["verdict"] or "-",
        activity["caller"] or "-",
        activity["id"],
    )


def _what(activity: Mapping[str, Any]) -> str:
    """The tool of a call, and whether its result was labelled or withheld; the kind of anything else."""
    if activity["tool"] is None:
        return activity["type"]
    result: Mapping[str, Any] = activity.get("result") or {}
    flagged = " (result flagged)" if result.get("findings") else ""
    return f"{activity['server'] or '?'}:{activity['tool']}{flagged}"


# show -----------------------------------------------------------------------------------------------------------


def _show_options(parser: Options) -> None:
    parser.add_argument("id", metavar="ID", help="the id of a record, or the beginning of a recent one")
    add_json(parser)


def _show(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        found = await _find(api, values.id)
        if values.json:
            print_json(found)
        else:
            print_lines(_lines(found))
        return Exit.OK

    return through_gateway(values, work)


async def _find(api: Api, given: str) -> dict[str, Any]:
    """A record by its id, or by a beginning of it that no other recent one shares."""
    try:
        return await api.get("activity", given)
    except InterlockError as failed:
        if failed.reason.code is not Code.NOT_FOUND:
            raise
        recent = (await api.get("activity", limit=_SEARCHED))["items"]
        fitting = [each for each in recent if each["id"].startswith(given)]
        if not fitting:
            raise
    if len(fitting) > 1:
        listed = ", ".join(each["id"] for each in fitting[:_SHOWN])
        more = f" and {len(fitting) - _SHOWN} more" if len(fitting) > _SHOWN else ""
        raise bad(f"several records begin with '{given}': {listed}{more}", "Give more of the id.")
    return fitting[0]


def _lines(activity: Mapping[str, Json]) -> Iterable[str]:
    """Everything that is on record; what is not there is left out."""
    told = {name: value for name, value in activity.items() if value not in (None, "", [], {})}
    width = max(len(name) for name in told)
    for name, value in told.items():
        if isinstance(value, Mapping | list):
            yield f"{name}:"
            text = json.dumps(value, indent=2, ensure_ascii=False)
            yield from (f"  {line}" for line in text.split("\n"))
        else:
            yield f"{name + ':':<{width + 1}}  {value}"


VERBS = (
    Verb(
        "list",
        "List what happened, newest first.",
        _list_options,
        _list,
        (
            "interlock activity list",
            "interlock activity list --status blocked --status denied --since 2h",
            "interlock activity list --tool github:create_issue --caller ci --json",
        ),
    ),
    Verb(
        "show",
        "Show one record in full: verdict and reasons, intent, arguments, result, timings.",
        _show_options,
        _show,
        ("interlock activity show 063f2a9c1b7d4e", "interlock activity show 063f2a9c1b7d4e --json"),
    ),
    tail.VERB,
    stats.VERB,
    export.VERB,
)
