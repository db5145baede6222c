"""Texts of strangers on their way into a report: hidden characters made visible, and what is long cut with a word.

Every report, whatever its format, takes what servers wrote from here. This module refuses to hand on a character that
plays tricks on a terminal, a browser or an XML reader: what is hidden is written as <U+202E>, so what is left can be
told by any of them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from interlock.core.hidden import visible
from interlock.lab.model import Finding
from interlock.lab.run import Run

MOST_TOOLS = 5
"""How many tools are named of which the same is said."""
LONGEST = 2_000
"""How many characters of one text a report shows."""


def shown(text: str, longest: int = LONGEST) -> str:
    """A text as a report shows it, on one line."""
    cut = f"{visible(text[:longest])}…" if len(text) > longest else visible(text)
    return cut if len(cut) <= 2 * longest else f"{cut[: 2 * longest]}…"


def shown_value(value: Any) -> str:
    """A piece of evidence: a text as it is, anything else as JSON."""
    # Not by msgspec: half a character, which a server can send as an escape, would be an error there.
    return shown(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def evidence_lines(finding: Finding) -> list[str]:
    """What was seen, a line each."""
    return [f"{shown(key)}: {shown_value(value)}" for key, value in finding.evidence.items()]


def tools_line(tools: Sequence[str], longest: int = LONGEST) -> str:
    """Some tools by name: the first few, and how many more."""
    more = f" and {len(tools) - MOST_TOOLS} more" if len(tools) > MOST_TOOLS else ""
    return ", ".join(shown(each, longest) for each in tools[:MOST_TOOLS]) + more


def server_line(server: Mapping[str, Any]) -> str:
    """What a server says about itself: `everything 2.0, protocol 2025-11-25`; empty where it said nothing."""
    name = " ".join(shown_value(server[key]) for key in ("name", "version") if server.get(key))
    protocol = f"protocol {shown_value(server['protocol'])}" if server.get("protocol") else ""
    return ", ".join(each for each in (name, protocol) if each)


def title_of(run: Run) -> str:
    """The heading of a report."""
    return f"{shown(run.verb)} of {shown(run.target)}"


def when_of(run: Run) -> str:
    """When a run was, how long it took, and how it ended."""
    return f"{shown(run.began)}, {run.seconds:.1f} s, {shown(run.ended)}"
