"""What would become of the tools of some servers, found out by starting them once, for the occasion.

A gateway of its own runs in a folder that is gone afterwards, with the rules that are in force and without anything
that would tell somebody: so nothing is on record, no baseline is kept, and a gateway that runs is not disturbed.
Secrets are handed over in memory. A server that does not start in time is told, and delays nobody.
"""

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

from interlock.cli.render import counted
from interlock.config.load import Config
from interlock.config.tree import Server, Settings
from interlock.core.health import LeftOut
from interlock.core.model import JsonObject

SECONDS = 30.0
"""How long all servers together may take."""
_PAUSE = 0.1
_RULES = ("posture", "lexicon", "route_rules", "workspaces", "default_workspace", "hold", "auth_scopes")


@dataclass(frozen=True, slots=True)
class Foreseen:
    """How many tools a server has, and how many of them would be held or denied; or why it did not start."""

    tools: int
    held: int
    problem: str
    definitions: tuple[JsonObject, ...] = ()
    """Its tools, as it lists them."""
    left_out: tuple[LeftOut, ...] = ()
    """What of its list was not taken."""


Progress = Callable[[int], None]


def foresee(settings: Settings, servers: Mapping[str, Server], environ: Mapping[str, str]) -> dict[str, Foreseen]:
    """Start the servers, look at their tools, and end them."""
    wanted = {name: each for name, each in servers.items() if each.enabled}
    if not wanted:
        return {}
    rules = {name: getattr(settings, name) for name in _RULES}
    config = Config(Settings().model_copy(update={**rules, "servers": wanted}), None, {})
    with tempfile.TemporaryDirectory(prefix="interlock-") as folder, _bar(len(wanted)) as tell:
        return asyncio.run(_looked(config, Path(folder), environ, tell))


async def _looked(config: Config, folder: Path, environ: Mapping[str, str], tell: Progress) -> dict[str, Foreseen]:
    from interlock.app.gateway import running_gateway
    from interlock.core.health import Health
    from interlock.store.folder import DataFolder
    from interlock.web.preview import tool_counts

    with DataFolder(folder).hold() as hold:
        async with running_gateway(config, hold, environ=environ) as gateway:
            async with asyncio.TaskGroup() as group:
                waiting = group.create_task(gateway.fleet.settled(SECONDS))
                while not waiting.done():
                    tell(sum(each.health is not Health.STARTING for each in gateway.fleet.states()))
                    await asyncio.wait({waiting}, timeout=_PAUSE)
            found: dict[str, Foreseen] = {}
            for state in gateway.fleet.states():
                tools = gateway.pipeline.book.by_server.get(state.id, {}).values()
                parts = gateway.parts
                counts = tool_counts(tools, parts.pipeline.policy, parts.workspaces.default, parts.clock.now())
                held = counts.total - counts.by_verdict.get("allow", 0)
                slow = "it did not start in time" if state.health is not Health.READY else ""
                definitions = tuple(one for each in tools for one in (each.descriptor, *each.others))
                found[state.id] = Foreseen(counts.total, held, state.problem or slow, definitions, state.left_out)
            return found


@contextlib.contextmanager
def _bar(total: int) -> Generator[Progress]:
    """A bar on a terminal; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"Starting {counted(total, 'server')}", total=total)
        yield lambda done: bar.update(task, completed=done)
