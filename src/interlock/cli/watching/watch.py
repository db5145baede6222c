"""`interlock approval watch`: what waits for approval, live, to be answered by keys; or as lines of JSON for a program.

It looks at a gateway that runs and starts none: nobody could ask one that only this command knows of.
"""

import asyncio
import contextlib
import json
import sys

from interlock.cli.command import Options, Values, Verb
from interlock.cli.gateway import address_of, folder_of
from interlock.cli.inputs import bad
from interlock.cli.render import note, write
from interlock.cli.watching.follow import Happened, Lost, News, Waiting, follow, present_api
from interlock.errors import Exit, sentence
from interlock.store.folder import DataFolder


class _NobodyReads(Exception):
    """Whoever read the lines went away, as `head` does."""


def _options(parser: Options) -> None:
    parser.add_argument("--quiet", action="store_true", help="ring no bell when a call comes")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print what waits already and then each event as a line of JSON on stdout instead",
    )


def _watch(values: Values) -> Exit:
    folder = folder_of(values)
    if values.json:
        address_of(folder)
        with contextlib.suppress(_NobodyReads):
            asyncio.run(_print_events(folder))
        return Exit.OK
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise bad(
            "watch needs a terminal of its own",
            "Use `interlock approval watch --json` for a program, or `interlock approval list` for a look.",
        )
    address_of(folder)
    # Loaded here, because it takes longer to load than any other command takes to run.
    from interlock.cli.watching.screen import watch_on_screen

    return watch_on_screen(folder, bell=not values.quiet)


async def _print_events(folder: DataFolder) -> None:
    told: set[str] = set()
    """The ids of those that wait and were printed: after an interruption they are not printed again."""

    def tell(news: News) -> None:
        match news:
            case Waiting():
                for each in news.items:
                    if each["id"] not in told:
                        _print({"event": "approval.created", **each})
                told.clear()
                told.update(each["id"] for each in news.items)
            case Happened("approval.created", approval) if approval["id"] in told:
                pass
            case Happened():
                (told.add if news.approval["status"] == "pending" else told.discard)(news.approval["id"])
                _print(dict(news.approval))
            case Lost():
                note(f"{sentence(news.why)} Looking for it again.")

    await follow(lambda: present_api(folder), tell)


def _print(event: dict[str, object]) -> None:
    if not write(json.dumps(event, ensure_ascii=True) + "\n"):
        raise _NobodyReads


VERB = Verb(
    "watch",
    "Watch what waits for approval and answer it: arrows choose, a approves, d denies, q quits.",
    _options,
    _watch,
    ("interlock approval watch", "interlock approval watch --quiet", "interlock approval watch --json"),
)
