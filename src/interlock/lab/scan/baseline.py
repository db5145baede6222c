"""Findings that somebody has looked at: what is known does not fail a build again, and what is gone is told.

A baseline is a small JSON file beside the code, meant to be read in a review: it names each finding and holds a digest
of what was seen. When a server changes the text that a finding is about, the digest changes and the finding is new
again. This module refuses to take part of a file: one that it cannot read whole is no baseline.
"""

import json
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from interlock.core.canonical import content_hash
from interlock.lab.model import Finding

_VERSION = 1
MOST = 100_000
"""How many findings a file may name."""


class Known(Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One finding, by what makes it that one."""

    code: str
    server: str
    tool: str
    digest: str

    @property
    def told(self) -> str:
        """How it is named to a person: `hidden-text of notes:echo`."""
        place = ":".join(each for each in (self.server, self.tool) if each)
        return f"{self.code} of {place}" if place else self.code


class _File(Struct, forbid_unknown_fields=True):
    version: int
    findings: list[Known]


class Compared(Struct, frozen=True):
    """Findings against a baseline."""

    new: list[Finding]
    known: list[Finding]
    gone: list[Known]


def key_of(finding: Finding) -> Known:
    """What makes a finding this one and no other."""
    server = finding.evidence.get("server")
    named = server if isinstance(server, str) else ""
    return Known(finding.code, named, finding.tool or "", content_hash(finding.evidence)[:16])


def written(findings: Iterable[Finding]) -> str:
    """The baseline of some findings, as the text of its file. It is ASCII, and in an order that makes small diffs."""
    keys = [msgspec.to_builtins(each) for each in sorted({key_of(each) for each in findings})]
    return json.dumps({"version": _VERSION, "findings": keys}, indent=2, ensure_ascii=True) + "\n"


def read(content: bytes) -> list[Known]:
    """The findings that a baseline names; raises ValueError with what is wrong with it."""
    try:
        file = msgspec.json.decode(content, type=_File)
    except (msgspec.MsgspecError, RecursionError) as broken:
        raise ValueError(str(broken)) from None
    if file.version != _VERSION:
        raise ValueError(f"its version is {file.version}, and {_VERSION} is known")
    if len(file.findings) > MOST:
        raise ValueError(f"it names more than {MOST} findings")
    return file.findings


def compared(findings: Sequence[Finding], baseline: Sequence[Known]) -> Compared:
    """Which findings are new, which are known, and which of the baseline are gone."""
    known, here = set(baseline), {key_of(each) for each in findings}
    return Compared(
        [each for each in findings if key_of(each) not in known],
        [each for each in findings if key_of(each) in known],
        sorted(known - here),
    )
