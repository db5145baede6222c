"""`interlock activity tail`: the last calls, and then each one as it ends.

The stream is opened before the last calls are asked for, so that no call falls in between; those that come both ways
are shown once. If the gateway cuts us off because we were too slow, we go on where it stopped.
"""

import json
from collections.abc import Mapping
from typing import Any

from interlock import errors
from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.filters import CALLS, add_call_filters, call_query
from interlock.cli.gateway import Api, folder_of, running_at, through_gateway
from interlock.cli.inputs import bad
from interlock.cli.render import note, print_lines, short_time, write
from interlock.core.lifecycle import CALL, CallState
from interlock.errors import Exit, InterlockError
from interlock.store.folder import FolderBusy

MOST = 500
_UNDER_WAY = frozenset(str(state) for state in CallState if CALL[state])


def _options(parser: Options) -> None:
    parser.add_argument("-n", type=int, default=20, metavar="N", help="how many of the last calls (default: 20)")
    add_call_filters(parser)
    add_json(parser)


def _tail(values: Values) -> Exit:
    if not 0 <= values.n <= MOST:
        raise bad(f"-n must be 0 to {MOST}", "Use `interlock activity list --cursor` for more.")
    runs = _gateway_runs(values)

    async def work(api: Api) -> Exit:
        if runs:
            return await _follow(api, values)
        await _print_last(api, values)
        note("No gateway runs, so nothing more will come. Start one with `interlock serve`.")
        return Exit.OK

    return through_gateway(values, work)


def _gateway_runs(values: Values) -> bool:
    try:
        return running_at(folder_of(values)) is not None
    except FolderBusy:
        return False  # another command works there, which does not listen


async def _print_last(api: Api, values: Values) -> set[str]:
    """Print the last calls that ended, oldest first; their ids."""
    if values.n == 0:
        return set()
    page = await api.get("activity", type=CALLS, limit=values.n, **call_query(values))
    ended = [each for each in reversed(page["items"]) if each["status"] not in _UNDER_WAY]
    for each in ended:
        _print(each, as_json=values.json)
    return {each["id"] for each in ended}


async def _follow(api: Api, values: Values) -> Exit:
    query = {name: value for name, value in call_query(values).items() if value is not None}
    shown: set[str] | None = None
    last: int | str | None = None
    while True:
        async with api.stream("events", query={"types": "activity"}, last_event=last) as response:
            if shown is None:
                shown = await _print_last(api, values)
            async for text in response.events():
                event = json.loads(text)
                if event["event"] == "overflow":
                    break
                last = event["number"]
                if event["id"] not in shown and _fits(event, query):
                    _print(event, as_json=values.json)
            else:
                raise InterlockError(errors.GATEWAY_GONE(problem="it ended the stream"))


def _fits(event: Mapping[str, Any], query: Mapping[str, str]) -> bool:
    # Only the status may be one of several.
    return all(event[name] in (value.split(",") if name == "status" else [value]) for name, value in query.items())


def _print(activity: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        write(json.dumps(activity, ensure_ascii=True) + "\n")
        return
    what = f"{activity['server'] or '?'}:{activity['tool']}"
    cells = [activity["status"], what, activity["safety_class"], activity["verdict"], activity["caller"]]
    told = "  ".join(each or "-" for each in cells)
    print_lines([f"{short_time(activity['at'])}  {told}  {activity['id']}"])


VERB = Verb(
    "tail",
    "Show the last calls, and then each one as it ends.",
    _options,
    _tail,
    (
        "interlock activity tail",
        "interlock activity tail -n 0 --status blocked --status denied",
        "interlock activity tail --server github --json",
    ),
)
