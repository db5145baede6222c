"""`interlock status`: whether a gateway runs on the data folder, where, and how it is doing.

It looks and starts nothing: when no gateway runs, that is the answer.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any

from interlock.cli.checkups.live import fixes, problem_of
from interlock.cli.command import Values, Verb, add_json
from interlock.cli.gateway import Api, address_of, credential_of, folder_of, remote
from interlock.cli.render import counted, print_json, print_lines, print_table, short_time, span
from interlock.errors import Exit

_CALLS = "tool_call,policy_decision"


def _status(values: Values) -> Exit:
    folder = folder_of(values)
    address = address_of(folder)
    api = Api(remote(address, folder), credential_of(folder))
    report: dict[str, Any] = {"address": address, "folder": str(folder.path.absolute()), **asyncio.run(_report(api))}
    if values.json:
        print_json(report)
    else:
        _print(report)
    servers = [each for each in report["servers"] if each["enabled"]]
    ready = not servers or any(each["health"] == "ready" for each in servers)
    return Exit.OK if ready else Exit.UNREACHABLE


async def _report(api: Api) -> dict[str, Any]:
    page = await api.get("activity", type=_CALLS)
    return {
        "settings": await api.get("settings"),
        "servers": (await api.get("servers"))["items"],
        "approvals": await _approvals(api),
        "freezes": (await api.get("freezes"))["items"],
        "seals": await _seals(api),
        "recent_calls": dict(Counter(each["status"] for each in page["items"]).most_common()),
    }


async def _approvals(api: Api) -> dict[str, Any]:
    """How many calls wait, and whether anybody listens for them."""
    figures = await api.get("approvals", "metrics", since="1h")
    return {name: figures[name] for name in ("pending", "oldest_wait_seconds", "listening")}


async def _seals(api: Api) -> dict[str, Any]:
    """How far the log is sealed, what keeps it from being sealed further, and whether the anchor says otherwise."""
    listed = await api.get("audit", "checkpoints")
    sealed = max((each["seq"] for each in listed["items"]), default=0)
    return {
        "records": listed["end"],
        "sealed": sealed,
        **{name: listed[name] for name in ("anchor", "problem", "disagreement")},
    }


def _print(report: dict[str, Any]) -> None:
    print_lines(_lines(report))
    if report["servers"]:
        print_lines([""])
        columns = ("id", "health", "tools", "problem")
        print_table(
            ("SERVER", "HEALTH", "TOOLS", "PROBLEM"),
            ([str({**each, "problem": problem_of(each)}[column]) for column in columns] for each in report["servers"]),
        )
    if to_do := fixes([each for each in report["servers"] if each["problem"]]):
        print_lines(["", *to_do])


def _lines(report: dict[str, Any]) -> Iterable[str]:
    settings, calls = report["settings"], report["recent_calls"]
    yield f"Gateway:  {report['address']} (version {settings['version']})"
    yield f"Folder:   {report['folder']}"
    if store := settings.get("store"):  # a gateway that was started before an update does not say
        yield f"Store:    {store}{_company(settings.get('gateways'))}"
    yield f"Posture:  {settings['posture']}"
    by_status = ", ".join(f"{count} {status}" for status, count in calls.items())
    total = sum(calls.values())
    yield f"Calls:    {by_status} (the last {counted(total, 'call')})" if calls else "Calls:    none yet"
    yield f"Waiting:  {_waiting(report['approvals'])}"
    yield from (f"Frozen:   {_frozen(each)}" for each in report["freezes"])
    yield from (f"Record:   {text}" for text in _store_problems(settings))
    if disagreement := report["seals"]["disagreement"]:
        yield f"Log:      {disagreement} `interlock audit verify` looks closer."
    if problem := report["seals"]["problem"]:
        yield f"Sealing:  the log is not sealed beyond record {report['seals']['sealed']}: {problem}"
    if not any(each["enabled"] for each in report["servers"]):
        yield "Servers:  none enabled"


def _company(gateways: int | None) -> str:
    if gateways is None:
        return ""
    return ", used by this gateway alone" if gateways == 1 else f", shared by {gateways} gateways"


def _store_problems(settings: dict[str, Any]) -> Iterable[str]:
    found = (each for each in settings["readiness"]["checks"] if each["name"] == "store" and not each["ok"])
    return (f"{each['text']} Calls that need a record are refused." for each in found)


def _waiting(approvals: dict[str, Any]) -> str:
    if not approvals["pending"]:
        return "no call waits for approval"
    told = (
        f"{counted(approvals['pending'], 'call')} for approval, the first for {span(approvals['oldest_wait_seconds'])}"
    )
    return f"{told}; `interlock approval list`"


def _frozen(freeze: dict[str, Any]) -> str:
    named = {kind: f"{kind} '{freeze[kind]}'" for kind in ("server", "caller") if freeze[kind] is not None}
    what = next(iter(named.values()), "everything")
    why = f": {freeze['reason']}" if freeze["reason"] else ""
    return f"{what}, by {freeze['by']} at {short_time(freeze['at'])}{why}"


VERB = Verb(
    "status",
    "Say whether a gateway runs, where, and how its servers are doing. Exit 4 when none runs or none of them is ready.",
    add_json,
    _status,
    ("interlock status", "interlock status --json", "interlock status --data-dir /srv/interlock"),
)
