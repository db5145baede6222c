"""The tools of real servers, from `tests/data/real_tools.tsv`."""

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from interlock.core.model import Json

_FILE = Path(__file__).parent.parent / "data" / "real_tools.tsv"
_HINTS = {"R": "readOnlyHint", "D": "destructiveHint", "I": "idempotentHint", "O": "openWorldHint"}


@dataclass(frozen=True)
class RealTool:
    server: str
    name: str
    hints: dict[str, bool]
    by_name: str
    untrusted: str
    trusted: str

    def descriptor(self, *, with_hints: bool = True) -> dict[str, Json]:
        return {"name": self.name, "annotations": self.hints} if with_hints and self.hints else {"name": self.name}


def read_real_tools() -> list[RealTool]:
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return [_tool(*line.split("\t")) for line in lines if not line.startswith("#")]


def _tool(server: str, name: str, hints: str, by_name: str, untrusted: str, trusted: str) -> RealTool:
    pairs = zip(hints[::2], hints[1::2], strict=False)
    return RealTool(server, name, {_HINTS[key]: sign == "+" for key, sign in pairs}, by_name, untrusted, trusted)


def servers() -> dict[str, list[RealTool]]:
    return {server: list(tools) for server, tools in groupby(read_real_tools(), key=lambda tool: tool.server)}
