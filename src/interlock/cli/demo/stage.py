"""Where the demo plays: a gateway of its own on a free port, in a temporary folder that is gone afterwards.

Everything is in that folder: configuration, database, credential. This module refuses to look at the configuration, the
folders and the variables of whoever plays, so that nothing of theirs is used or changed.
"""

import contextlib
import json
import sys
import tempfile
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from interlock import errors
from interlock.cli.gateway import SERVER_SECONDS, Api, bind, remote, started
from interlock.cli.loading import load_module
from interlock.core.model import Json
from interlock.errors import InterlockError
from interlock.store.folder import DataFolder

SERVER = "notes"
AGENT = "demo-agent"
WAIT_SECONDS = 3_600
"""How long the held call waits for somebody."""
_PREFIX = "interlock-demo-"


@dataclass(frozen=True, slots=True)
class Stage:
    """A gateway that runs, reached as its operator."""

    folder: Path
    data: DataFolder
    address: str
    api: Api


def config_text(folder: Path) -> str:
    """The configuration of the demo. JSON is YAML, and quotes whatever is in a path."""
    settings: dict[str, Json] = {
        "posture": "guarded",
        "servers": {SERVER: {"command": sys.executable, "args": ["-m", "interlock.lab.sample"], "cwd": str(folder)}},
        "route_rules": [
            {"id": "no-secrets", "tool_pattern": f"{SERVER}__write_note", "args": {"name": "secret*"}, "effect": "deny"}
        ],
        "hold": {"answer_after": "never", "clients": {}, "approval_timeout": WAIT_SECONDS, "use_within": "1h"},
    }
    return json.dumps(settings, indent=2) + "\n"


@contextlib.asynccontextmanager
async def stage() -> AsyncGenerator[Stage]:
    """Run the gateway of the demo until the block ends. Nothing is left of it then."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        folder = Path(name)
        (folder / "interlock.yaml").write_text(config_text(folder), encoding="utf-8")
        async with _gateway(folder) as address:
            data = DataFolder(folder / "data")
            yield Stage(folder, data, address, Api(remote(address, data), data.credential() or ""))


@contextlib.asynccontextmanager
async def _gateway(folder: Path) -> AsyncGenerator[str]:
    load_module("interlock.app.listening")
    load_module("interlock.app.agents")
    from interlock.app.listening import listening
    from interlock.config.load import load, with_listen

    with contextlib.closing(bind("127.0.0.1", 0)) as listener, DataFolder(folder / "data").hold() as hold:
        config = with_listen(load(str(folder / "interlock.yaml"), {}), None, listener.getsockname()[1])
        async with contextlib.AsyncExitStack() as stack:
            gateway = await started(stack, config, hold, servers=True)
            await gateway.fleet.settled(SERVER_SECONDS)
            problem = next((each.problem for each in gateway.fleet.states() if each.problem), None)
            if problem is None:
                await stack.enter_async_context(listening(gateway, listener, hold))
                yield hold.folder.announced() or ""
    if problem is not None:
        raise InterlockError(errors.UPSTREAM_DOWN(server=SERVER, problem=problem))
