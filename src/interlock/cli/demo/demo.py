"""`interlock demo`: a gateway and an agent that last for one command, so that somebody sees what Interlock does.

A scripted agent meets one of each verdict, and its last call is held. The second key is another principal's: whoever
presses `a` here answers as the operator, over REST, as `interlock approval approve` does; the dashboard may be faster.

This module refuses to leave anything behind: whatever ends the demo, the processes and the folder are gone with it.
"""

import asyncio
import contextlib
import io
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any

from interlock.cli.answering import approve, deny
from interlock.cli.command import Options, Values, Verb
from interlock.cli.demo.stage import AGENT, SERVER, WAIT_SECONDS, Stage, stage
from interlock.cli.inputs import bad
from interlock.cli.open import open_browser
from interlock.cli.render import STYLES, note, print_table, short_time, span, visible, write
from interlock.cli.watching.keys import GONE, keys_of, terminal
from interlock.errors import Code, Exit, InterlockError

if TYPE_CHECKING:
    from interlock.cli.demo.agent import Agent

_PAUSE = 0.05
_LEAVE = ("q", GONE)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STYLES = {"allowed": STYLES["allow"], "refused": STYLES["deny"], "held": STYLES["hold"], "denied": STYLES["denied"]}
_WIDTH = 8
_LOGGED = 3
_DOORS = {"cli": "from the command line", "dashboard": "at the dashboard"}
_NEXT = (
    ("interlock init", "take over the servers of the MCP clients here"),
    ("interlock serve", "run the gateway that your agents connect to"),
)


def _options(parser: Options) -> None:
    parser.add_argument("--no-browser", action="store_true", help="print the link to the dashboard and open nothing")
    parser.add_argument("--yes", action="store_true", help="approve the held call without asking, for a recording")


def _demo(values: Values) -> Exit:
    if values.config is not None or values.data_dir is not None:
        raise bad("the demo has a configuration and a folder of its own", "Leave --config and --data-dir out.")
    return asyncio.run(_until_told(_play(values)))


async def _until_told(play: Awaitable[Exit]) -> Exit:
    """Play to the end, or until a signal comes: then everything that was begun is ended first."""
    loop, playing = asyncio.get_running_loop(), asyncio.current_task()

    def stop() -> None:
        if playing is not None and not playing.cancelling():  # a second signal must not interrupt the ending
            playing.cancel()

    for each in _SIGNALS:
        loop.add_signal_handler(each, stop)
    try:
        return await play
    except asyncio.CancelledError:
        note("Interrupted; nothing is left of the demo.")
        return Exit.INTERRUPTED


async def _play(values: Values) -> Exit:
    _say("", "Interlock demo: a gateway, a server with a few notes, and an agent that calls it. One moment…")
    outcome: Exit | InterlockError = Exit.INTERNAL
    async with stage() as place:
        try:
            outcome = await _story(place, values)
        except InterlockError as failed:
            outcome = failed  # raised further down: on its way through the gateway it would become a group
    if isinstance(outcome, InterlockError):
        raise outcome
    return outcome


async def _story(place: Stage, values: Values) -> Exit:
    from interlock.cli.demo.agent import STEPS, connected

    token = (await place.api.post("tokens", body={"name": AGENT, "roles": ["agent"]}))["token"]
    _say("", f"Everything is in {place.folder}, which is removed at the end.")
    _say("", "")
    async with connected(place.address, token) as agent:
        for step in STEPS:
            saw = await agent.take(step)
            word, code = ("allowed", "") if saw.code is None else ("refused", f" ({saw.code})")
            _say(word, f"{step.told}{code}. The agent saw: {saw.text}")
        return await _held(place, agent, values)


# The held call --------------------------------------------------------------------------------------------------


async def _held(place: Stage, agent: "Agent", values: Values) -> Exit:
    from interlock.cli.demo.agent import HELD

    await place.api.get("approvals", status="pending")  # so that the gateway knows that somebody looks
    async with asyncio.TaskGroup() as group:
        call = group.create_task(agent.take(HELD))
        seen = await _waiting(place)
        _say("held", f"{HELD.told}: {seen['tool_name']} is {seen['safety_class']}, so it waits for a second key.")
        _say("", f"{'':{_WIDTH}}  It gives this reason: {seen['justification']}")
        await _invite(place, values)
        answering = group.create_task(_answer(place, seen, values))
        await asyncio.wait({call, answering}, return_when=asyncio.FIRST_COMPLETED)
        if not call.done() and answering.result():
            await asyncio.wait({call})
        left = not call.done()
        call.cancel()
        answering.cancel()
    if left:
        _say("", "You left, so nobody turned the second key, and nothing was deleted.")
        return Exit.OK
    return await _close(place, seen["id"], call.result().text)


async def _waiting(place: Stage) -> Mapping[str, Any]:
    """The approval that the agent's call waits for."""
    while True:
        for each in (await place.api.get("approvals", status="pending"))["items"]:
            return await place.api.get("approvals", each["id"])
        await asyncio.sleep(_PAUSE)


async def _invite(place: Stage, values: Values) -> None:
    """Show the link to the dashboard, and open it."""
    link = f"{place.address}{(await place.api.post('session', 'link', body={}))['path']}"
    _say("", "")
    _say("", f"Dashboard: {link}")
    if not (values.no_browser or values.yes):
        # A browser may stay in front of whoever starts it until it is closed.
        threading.Thread(target=open_browser, args=(link,), daemon=True).start()


async def _answer(place: Stage, seen: Mapping[str, Any], values: Values) -> bool:
    """Have the call answered; whether it was. False when whoever is here leaves."""
    if values.yes:
        _say("", "Approving it as the operator (--yes).")
        return await _turn(place, seen, "a")
    descriptor = terminal()
    if descriptor is not None:
        with keys_of(descriptor) as keys:
            # Said when keys are heard: what was typed before somebody could read this is forgotten.
            _say("", "Press a to approve, d to deny, q to leave. Or answer it at the dashboard.")
            return await _by_key(place, seen, keys)
    if not _is_read():
        return False  # nobody is told of the call, so nobody would answer it
    _say("", f"Answer it there within {span(WAIT_SECONDS)}, or in another terminal; Ctrl-C ends the demo:")
    _say("", f"  interlock approval approve {seen['id']} --data-dir {place.data.path}")
    await asyncio.Event().wait()
    return True


async def _by_key(place: Stage, seen: Mapping[str, Any], keys: asyncio.Queue[str]) -> bool:
    while (key := await keys.get()) not in _LEAVE:
        if key in ("a", "d") and await _turn(place, seen, key):
            return True
    return False


async def _turn(place: Stage, seen: Mapping[str, Any], key: str) -> bool:
    """Answer as the operator; whether the call is answered now."""
    try:
        await (approve(place.api, seen, {"scope": "once"}) if key == "a" else deny(place.api, seen, None))
    except InterlockError as refused:
        # Somebody at the dashboard may have been faster: then that answer counts, and it is told in the end.
        if refused.reason.code is not Code.ALREADY_RESOLVED:
            _say("", f"That was not taken: {refused.reason.text}")
            return False
    return True


# How it ended ---------------------------------------------------------------------------------------------------


async def _close(place: Stage, approval: str, saw: str) -> Exit:
    answered = await place.api.get("approvals", approval)
    by = f"{answered['approver'] or 'nobody'} {_DOORS.get(answered['approver_type'], '')}".rstrip()
    word = "allowed" if answered["status"] == "approved" else "denied"
    _say("", "")
    _say(word, f"{answered['status'].capitalize()} by {by}. The agent saw: {saw}")
    _say("", "")
    _say("", "The end of the activity log:")
    items = (await place.api.get("activity", server=SERVER, limit=_LOGGED))["items"]
    print_table(("WHEN", "STATUS", "WHAT", "CLASS", "WHO"), (_logged(each, answered) for each in items))
    _say("", "")
    _say("", "What to do next:")
    width = max(len(command) for command, _ in _NEXT)
    for command, what in _NEXT:
        _say("", f"  {command:<{width}}  {what}")
    return Exit.TIMED_OUT if answered["status"] == "timeout" else Exit.OK


def _logged(activity: Mapping[str, Any], answered: Mapping[str, Any]) -> tuple[str, ...]:
    """A record as a line. An approval is told with whoever answered it."""
    who = answered["approver"] if activity["type"] == "approval" else activity["caller"]
    what = f"{activity['type']} {activity['tool']}"
    return short_time(activity["at"]), activity["status"], what, activity["safety_class"] or "-", who or "-"


def _say(word: str, text: str) -> None:
    """A line on stdout, with its verdict before it in colour where there is a terminal."""
    if not word:
        write(f"{visible(text)}\n")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=io.StringIO(), force_terminal=sys.stdout.isatty(), highlight=False)
    with console.capture() as captured:
        console.print(Text(f"{word:<{_WIDTH}}", style=_STYLES[word]), end="")
    write(f"{captured.get()}  {visible(text)}\n")


def _is_read() -> bool:
    """Whether what is said goes anywhere. In the place of a reader that went away, `write` has put nothing."""
    with contextlib.suppress(io.UnsupportedOperation):
        return not os.path.samestat(os.fstat(sys.stdout.fileno()), os.stat(os.devnull))
    return True


VERB = Verb(
    "demo",
    "See what Interlock does: an agent meets every verdict, and you turn the second key. Leaves nothing behind.",
    _options,
    _demo,
    ("interlock demo", "interlock demo --no-browser", "interlock demo --yes"),
)
