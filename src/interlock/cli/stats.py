"""`interlock activity stats`: how many calls ended how, by class, server and verdict."""

from collections.abc import Iterable
from typing import Any

from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.filters import add_filters, query_of
from interlock.cli.gateway import Api, through_gateway
from interlock.cli.render import counted, note, print_json, print_table, short_time
from interlock.errors import Exit

_GROUPS = {"status": "by_status", "class": "by_class", "server": "by_server", "verdict": "by_verdict"}


def _options(parser: Options) -> None:
    add_filters(parser)
    add_json(parser)


def _stats(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        stats = await api.get("activity", "stats", **query_of(values))
        if values.json:
            print_json(stats)
            return Exit.OK
        note(f"{counted(stats['total'], 'record')} from {short_time(stats['since'])} to {short_time(stats['until'])}.")
        if not stats["complete"]:
            note("There are more: only the newest were counted. Choose a shorter time with --since and --until.")
        if stats["total"]:
            print_table(("BY", "WHAT", "COUNT"), _rows(stats))
        return Exit.OK

    return through_gateway(values, work)


def _rows(stats: dict[str, Any]) -> Iterable[tuple[str, str, str]]:
    for name, group in _GROUPS.items():
        yield from ((name, what, str(count)) for what, count in stats[group].items())


VERB = Verb(
    "stats",
    "Count calls by how they ended, by class, server and verdict; of the last 24 hours unless --since says otherwise.",
    _options,
    _stats,
    ("interlock activity stats", "interlock activity stats --since 7d --server github --json"),
)
