"""`interlock activity tail`: the last calls, and then each one as it ends.

The stream is opened before the last calls are asked for, so that no call falls in between; those that come both ways
are shown once. When the gateway ends the stream, because we were too slow or because its database does not answer, or
when it is started anew, we go on where we were. Only where nobody listens any more for a while is there nothing to wait
for.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from interlock import errors
from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.filters import CALLS, add_call_filters, call_query
from interlock.cli.gateway import Api, Refused, folder_of, running_at, through_gateway
from interlock.cli.inputs import bad
from interlock.cli.render import note, print_lines, short_time, write
from interlock.cli.watching.follow import PASSING, present_api
from interlock.core.lifecycle import CALL, CallState
from interlock.errors import Code, Exit, InterlockError, sentence
from interlock.store.folder import FolderBusy

MOST = 500
_UNDER_WAY = frozenset(str(state) for state in CallState if CALL[state])


@dataclass(frozen=True, slots=True)
class Pace:
    """How many seconds to wait before the gateway is asked again, at first and at most; and for how long nobody need
    listen at its address before it is given up."""

    first: float = 0.5
    most: float = 5.0
    patience: float = 30.0


_PACE = Pace()


def _options(parser: Options) -> None:
    parser.add_argument("-n", type=int, default=20, metavar="N", help="how many of the last calls (default: 20)")
    add_call_filters(parser)
    add_json(parser)


def _tail(values: Values) -> Exit:
    if not 0 <= values.n <= MOST:
        raise bad(f"-n must be 0 to {MOST}", "Use `interlock activity list --cursor` for more.")
    if _gateway_runs(values):
        folder = folder_of(values)
        asyncio.run(follow_calls(lambda: present_api(folder), values))

    async def work(api: Api) -> Exit:
        await _Tail(values).print_last(api)
        note("No gateway runs, so nothing more will come. Start one with `interlock serve`.")
        return Exit.OK

    return through_gateway(values, work)


def _gateway_runs(values: Values) -> bool:
    try:
        return running_at(folder_of(values)) is not None
    except FolderBusy:
        return False  # another command works there, which does not listen


async def follow_calls(connect: Callable[[], Api], values: Values, pace: Pace = _PACE) -> NoReturn:
    """Print the last calls and then each one that ends, for ever. Raises what asking again would not mend."""
    tail, gap = _Tail(values), _Gap(pace)
    while True:
        try:
            await tail.listen(connect(), gap)
        except InterlockError as failed:
            if failed.reason.code is Code.BAD_REQUEST and tail.last is not None:
                tail.last = None  # another log: its last calls are all that can be told of what was before
                continue
            await gap.bear(failed)


class _Gap:
    """The time in which nothing is heard of the gateway."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._pause = pace.first
        self._alone: float | None = None
        """Since when nobody listens."""
        self._said = False

    def over(self) -> None:
        """Something is heard again."""
        if self._said:
            note("The gateway answers again; this goes on where it was.")
        self._pause, self._alone, self._said = self._pace.first, None, False

    async def bear(self, why: InterlockError) -> None:
        """Wait before the next try; raises what another try would not mend."""
        if why.reason.code not in PASSING or self._is_too_long(why):
            raise why
        if not self._said:
            note(f"{sentence(why.reason.text)} Waiting until it goes on; Ctrl-C stops.")
            self._said = True
        await asyncio.sleep(self._pause)
        self._pause = min(2 * self._pause, self._pace.most)

    def _is_too_long(self, why: InterlockError) -> bool:
        now = asyncio.get_running_loop().time()
        if isinstance(why, Refused):  # a gateway that says why it cannot is there
            self._alone = None
            return False
        if self._alone is None:
            self._alone = now
        return now - self._alone >= self._pace.patience


@dataclass
class _Tail:
    """What was shown so far."""

    values: Values
    last: int | str | None = None
    """The place in the story up to which everything was shown; None before the last calls were."""
    shown: set[str] = field(default_factory=set[str])
    """The ids of the last calls, which may come through the stream too."""

    async def listen(self, api: Api, gap: _Gap) -> None:
        """Show what happens until we are cut off; raises InterlockError when the stream ends in any other way."""
        query = {name: value for name, value in call_query(self.values).items() if value is not None}
        async with api.stream("events", query={"types": "activity"}, last_event=self.last) as response:
            if self.last is None:
                await self.print_last(api)
                self.last = response.headers.get("last-event-id")
            gap.over()
            async for text in response.events():
                event = json.loads(text)
                if event["event"] == "overflow":
                    return
                self.last = event["number"]
                if event["id"] not in self.shown and _fits(event, query):
                    _print(event, as_json=self.values.json)
        raise InterlockError(errors.STREAM_ENDED())

    async def print_last(self, api: Api) -> None:
        """Print the last calls that ended, oldest first."""
        if self.values.n == 0:
            return
        page = await api.get("activity", type=CALLS, limit=self.values.n, **call_query(self.values))
        for each in reversed(page["items"]):
            if each["status"] not in _UNDER_WAY and each["id"] not in self.shown:
                _print(each, as_json=self.values.json)
                self.shown.add(each["id"])


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
