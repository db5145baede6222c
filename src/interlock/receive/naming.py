"""Which names a question writes out: `server:tool`, `namespace__tool` or the bare name of a tool, in any case.

Whoever writes a tool's name wants that tool, whatever else the sentence says. A name counts only where it stands by
itself, as it is written: `get issue` does not name `get_issue`, it merely describes it. This module only takes a
question apart, so that names can be looked up; it never goes through all tools, however many there are.
"""

import re
from collections.abc import Iterator

_CHUNK = re.compile(r"[^\s\"'`\u2018-\u201d,;!?()<>\[\]{}|*]+")
_SEPARATOR = re.compile(r"__|[:/.]")
_LONGEST = 4
"""Names with spaces are rare; those of more parts than this are found by their words only."""


def spoken(name: str) -> str:
    """The form in which names are compared: no case, no punctuation around them, single spaces."""
    return " ".join(_chunks(name))


def mentions(question: str) -> dict[str, set[str]]:
    """Whatever in a question could be a name, in the form of `spoken`, with what stands before it as its server.

    `github:get_issue` may be a name by itself, and it says `get_issue` of `github`. So does `mcp__github__get_issue`.
    """
    found: dict[str, set[str]] = {}
    chunks = _chunks(question)
    for at, chunk in enumerate(chunks):
        for end in range(at + 1, min(at + _LONGEST, len(chunks)) + 1):
            run = " ".join(chunks[at:end])
            found.setdefault(run, set())
            for owner, begin in _owners(chunk):
                found.setdefault(run[begin:], set()).add(owner)
    return found


def _chunks(text: str) -> list[str]:
    return [bare for each in _CHUNK.findall(text.casefold()) if (bare := each.strip(".:"))]


def _owners(chunk: str) -> Iterator[tuple[str, int]]:
    """What could be a server in a chunk, and where the name after it begins."""
    begin = 0
    for mark in _SEPARATOR.finditer(chunk):
        if mark.end() < len(chunk):
            yield chunk[begin : mark.start()], mark.end()
        begin = mark.end()
