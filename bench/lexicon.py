"""How well names alone tell what servers declare: held reads, and destructive tools taken for reads.

`python bench/lexicon.py [FOLDER]` reads saved tools/list answers from JSON files in a folder; without one, the names
and hints of public servers that the tests keep. Under the posture `guarded` a tool is held when its gateway class is
subprocess, dangerous or unknown. Goals, by name alone: at most 25 % of the tools declared read-only are held, and at
most one tool declared destructive is read-only.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from interlock.core.classify import classify_listing
from interlock.core.model import JsonObject
from interlock.core.safety import POSTURES, Effect, Posture, SafetyClass
from tests.core.real_tools import servers

MAX_HELD, MAX_MISSED = 0.25, 1


def from_folder(folder: Path) -> dict[str, list[JsonObject]]:
    return {file.stem: tools_in(json.loads(file.read_text(encoding="utf-8"))) for file in sorted(folder.glob("*.json"))}


def tools_in(value: Any) -> list[JsonObject]:
    for key in ("result", "tools"):
        value = value.get(key, value) if isinstance(value, Mapping) else value  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return value  # pyright: ignore[reportUnknownVariableType]


def from_tests() -> dict[str, list[JsonObject]]:
    return {server: [tool.descriptor() for tool in tools] for server, tools in servers().items()}


def classes(listings: dict[str, list[JsonObject]], *, hints: bool, trusted: bool) -> list[tuple[str, Any, SafetyClass]]:
    """Tool, its declared hints, and the class given with or without them."""
    rows: list[tuple[str, Any, SafetyClass]] = []
    for server, tools in listings.items():
        seen = tools if hints else [{"name": tool["name"]} for tool in tools]
        given = classify_listing(seen, trusted=trusted)
        for tool, (descriptor, each) in zip(tools, given, strict=True):
            rows.append((f"{server}:{descriptor.name}", tool.get("annotations") or {}, each.gateway))
    return rows


def report(title: str, rows: list[tuple[str, Any, SafetyClass]]) -> tuple[float, int]:
    reads = [(name, given) for name, hints, given in rows if hints.get("readOnlyHint") is True]
    destructive = [(name, given) for name, hints, given in rows if hints.get("destructiveHint") is True]
    held = [f"{name} ({given})" for name, given in reads if POSTURES[Posture.GUARDED][given] is not Effect.ALLOW]
    missed = [name for name, given in destructive if given is SafetyClass.READ_ONLY]
    share = len(held) / max(1, len(reads))
    print(f"{title}")
    print(f"  declared read-only   {len(reads):4}   held      {len(held):4}  {share:6.1%}   {', '.join(held)}")
    print(f"  declared destructive {len(destructive):4}   read-only {len(missed):4}           {', '.join(missed)}")
    return share, len(missed)


def main() -> None:
    listings = from_folder(Path(sys.argv[1])) if len(sys.argv) > 1 else from_tests()
    print(f"lexicon: {sum(map(len, listings.values()))} tools of {len(listings)} servers")
    share, missed = report("names alone", classes(listings, hints=False, trusted=False))
    report("with annotations, untrusted", classes(listings, hints=True, trusted=False))
    report("with annotations, trusted", classes(listings, hints=True, trusted=True))
    reached = share <= MAX_HELD and missed <= MAX_MISSED
    print(f"goal (names alone: at most {MAX_HELD:.0%} held, at most {MAX_MISSED} read-only)", end=" ")
    print("reached" if reached else "MISSED")


if __name__ == "__main__":
    main()
