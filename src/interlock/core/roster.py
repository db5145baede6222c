"""Which servers there are, for whoever lists or changes them: those of the configuration file, and those added later.

Plain values and the shape of the one who knows them; the configuration behind them is read elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from interlock.core.model import JsonObject


@dataclass(frozen=True, slots=True)
class Entry:
    """One server as it is configured.

    `added` tells one that was added at run time from one that stands in the file. `problem` says why what was added
    does not fit the file any more; then it does not run.
    """

    id: str
    namespace: str
    transport: str
    trusted: bool
    enabled: bool
    added: bool
    problem: str = ""


class Roster(Protocol):
    """All servers. What changes them is on record, and in force when it returns; raises InterlockError."""

    def entries(self) -> Sequence[Entry]:
        """Each server, also those that are switched off."""
        ...

    async def add(self, server: str, definition: JsonObject, by: str) -> None:
        """Add a server with the settings that it would have in the file."""
        ...

    async def remove(self, server: str, by: str) -> None:
        """Remove a server that was added."""
        ...

    async def switch(self, server: str, enabled: bool, by: str) -> None:
        """Switch a server on or off."""
        ...

    async def restart(self, server: str, by: str) -> None:
        """Start a server anew, with its references read anew."""
        ...
