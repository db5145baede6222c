"""`interlock approval`: what waits for a second key, and the operator's answer.

The command line answers as the operator, and refuses and allows nothing by itself: the gateway does that.
"""

from collections.abc import Mapping
from typing import Any

from interlock import errors
from interlock.cli.answering import approve, deny, is_beyond_once, outcome_of
from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.gateway import Api, through_gateway
from interlock.cli.lookup import by_part
from interlock.cli.render import note, print_json, print_lines, print_table, short_time, span
from interlock.cli.watching import watch
from interlock.cli.watching.card import card, standing
from interlock.clock import SystemClock
from interlock.core.grants import GrantScope
from interlock.core.lifecycle import ApprovalState
from interlock.errors import Code, Exit, InterlockError

_SEARCHED = 500
"""Among so many that wait, and so many of all, a part of an id is looked for; it is the largest page."""
_WIDTH = 11
_STATES = [each.value for each in ApprovalState]
_SCOPES = [each.value for each in GrantScope]


# list -----------------------------------------------------------------------------------------------------------


def _list_options(parser: Options) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--status", choices=_STATES, default="pending", help="those that stand so (default: pending)")
    which.add_argument("--all", action="store_true", help="those that were answered too")
    parser.add_argument("--workspace", metavar="W", help="those of calls in this workspace")
    parser.add_argument("--session", metavar="X", help="those that this session asked for")
    parser.add_argument("--limit", type=int, metavar="N", help="how many, at most (default: 50)")
    add_json(parser)


def _list(values: Values) -> Exit:
    status = None if values.all else values.status
    query = {"workspace_id": values.workspace, "session_id": values.session, "limit": values.limit}

    async def work(api: Api) -> Exit:
        page = await api.get("approvals", status=status, **query)
        if values.json:
            print_json(page)
        else:
            _print_page(page)
        return Exit.OK

    return through_gateway(values, work)


def _print_page(page: Mapping[str, Any]) -> None:
    items, now = page["items"], SystemClock().now()
    if not items:
        note("No approval fits.")
        return
    columns = ("ID", "STATUS", "TOOL", "CLASS", "REQUESTER", "WORKSPACE", "ASKED", "ANSWER")
    print_table(columns, (_row(each, now) for each in items))
    if page["total"] > len(items):
        note(f"These are {len(items)} of {page['total']}: --limit shows more.")


def _row(approval: Mapping[str, Any], now: int) -> tuple[str, ...]:
    names = ("id", "status", "tool_name", "safety_class", "requester", "workspace_id")
    told = (approval[name] or "-" for name in names)
    return (*told, short_time(approval["created_at"]), standing(approval, now))


# show -----------------------------------------------------------------------------------------------------------


def _show_options(parser: Options) -> None:
    _add_id(parser)
    add_json(parser)


def _add_id(parser: Options) -> None:
    parser.add_argument("id", metavar="ID", help="the id of an approval, or 4 characters of its beginning or end")


def _show(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        found = await find(api, values.id)
        if values.json:
            print_json(found)
        else:
            print_lines(
                f"{each.label + ':':<{_WIDTH}} {each.text}" if each.label else f"{each.prefix}{each.text}"
                for each in card(found, SystemClock().now())
            )
        return Exit.OK

    return through_gateway(values, work)


async def find(api: Api, given: str) -> dict[str, Any]:
    """An approval by its id or a part of it.

    A part has to fit one alone, whether it waits or was answered: ids begin with their time, so the beginning of one
    that somebody looked at a minute ago is that of the one that waits now.
    """
    try:
        return await api.get("approvals", given)
    except InterlockError as failed:
        if failed.reason.code is not Code.NOT_FOUND:
            raise
    pages = [await api.get("approvals", status=status, limit=_SEARCHED) for status in ("pending", None)]
    known = {each["id"]: each for page in pages for each in page["items"]}
    chosen = by_part(given, list(known), "approval")
    if chosen is None:
        raise InterlockError(errors.NOT_FOUND(what=f"Approval '{given}'", suggestion=""))
    return known[chosen]


# approve, deny --------------------------------------------------------------------------------------------------


def _approve_options(parser: Options) -> None:
    _add_id(parser)
    parser.add_argument("--reason", metavar="T", help="what the record is told")
    parser.add_argument("--scope", choices=_SCOPES, help="this call once (default), the same call again, or the tool")
    parser.add_argument("--for", dest="duration", metavar="15m", help="how long a scope beyond once holds")
    add_json(parser)


def _approve(values: Values) -> Exit:
    given = {"resolution": values.reason, "scope": values.scope, "duration": values.duration}

    async def work(api: Api) -> Exit:
        seen = await find(api, values.id)
        _tell(await approve(api, seen, given), as_json=values.json)
        return Exit.OK

    return through_gateway(values, work)


def _deny_options(parser: Options) -> None:
    _add_id(parser)
    parser.add_argument("--reason", metavar="T", help="what the requester is told")
    add_json(parser)


def _deny(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        _tell(await deny(api, await find(api, values.id), values.reason), as_json=values.json)
        return Exit.OK

    return through_gateway(values, work)


def _tell(answered: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(dict(answered))
    note(outcome_of(answered))
    if is_beyond_once(answered):
        note("  More calls pass by it: `interlock grant list` shows until when, `interlock grant revoke` ends it.")


# metrics --------------------------------------------------------------------------------------------------------


def _metrics_options(parser: Options) -> None:
    parser.add_argument("--since", metavar="30d", help="how far back to count (default: 30d)")
    add_json(parser)


def _metrics(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        figures = await api.get("approvals", "metrics", since=values.since)
        if values.json:
            print_json(figures)
        else:
            print_lines(_figures(figures))
        return Exit.OK

    return through_gateway(values, work)


def _figures(figures: Mapping[str, Any]) -> list[str]:
    oldest, rate = figures["oldest_wait_seconds"], figures["approval_rate"]
    since = f", the oldest for {span(oldest)}" if figures["pending"] and oldest is not None else ""
    waits = {"average": "average_wait_seconds", "median": "median_wait_seconds", "95 %": "p95_wait_seconds"}
    told = [f"{word} {span(figures[name])}" for word, name in waits.items() if figures[name] is not None]
    lines = {
        "Pending": f"{figures['pending']}{since}",
        **{each.capitalize(): str(figures[each]) for each in _STATES[1:]},
        "Rate": "-" if rate is None else f"{rate:.0%} of those that were answered were approved",
        "Wait": ", ".join(told) or "-",
        "Listening": "yes" if figures["listening"] else "nobody; `interlock approval watch` does",
    }
    return [f"{label + ':':<{_WIDTH}} {text}" for label, text in lines.items()]


VERBS = (
    Verb(
        "list",
        "List what waits for approval, newest first.",
        _list_options,
        _list,
        (
            "interlock approval list",
            "interlock approval list --all --workspace ws-prod --json",
            "interlock approval list --status denied --limit 10",
        ),
    ),
    Verb(
        "show",
        "Show one approval with everything a reviewer needs: the call in full, who asks, why it is held.",
        _show_options,
        _show,
        ("interlock approval show 3f2a", "interlock approval show ap_0649c1b7d4e3f2a --json"),
    ),
    Verb(
        "approve",
        "Approve a call that waits. It runs once, unless you say more.",
        _approve_options,
        _approve,
        (
            "interlock approval approve 3f2a",
            "interlock approval approve 3f2a --reason 'the note is a copy'",
            "interlock approval approve 3f2a --scope identical --for 15m",
        ),
    ),
    Verb(
        "deny",
        "Deny a call that waits. The requester is told the reason.",
        _deny_options,
        _deny,
        ("interlock approval deny 3f2a", "interlock approval deny 3f2a --reason 'ask the owner of the table first'"),
    ),
    watch.VERB,
    Verb(
        "metrics",
        "Count approvals, and how long they waited.",
        _metrics_options,
        _metrics,
        ("interlock approval metrics", "interlock approval metrics --since 7d --json"),
    ),
)
