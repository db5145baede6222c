"""Whether two answers to the same question are the same, but for what changes by itself.

Times, ids and numbers that only grow are masked, because a server that tells the time is not unstable. Everything is
compared as text: of an answer that is too long to compare, the length decides.

This module refuses to guess further: two answers that differ in anything else differ.
"""

import json
import re
from enum import StrEnum
from itertools import zip_longest
from typing import Any

LONGEST = 1_000_000
"""How many characters of an answer are compared."""

_CHANGING = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?)?(?: ?Z|[+-]\d{2}:?\d{2})?"
    r"|\b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?[AP]M)?\b"
    r"|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
    r"|\b(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9A-HJKMNP-TV-Z]{26})\b"
    r"|\b(?:Mon|Tues?|Wednes|Wed|Thurs?|Fri|Satur|Sat|Sun)(?:day)?\b"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6} \d{1,2}\b"
)
_NUMBER = re.compile(r"\d{1,40}(?:\.\d{1,40})?")


class Sameness(StrEnum):
    """How two answers compare."""

    SAME = "same"
    VOLATILE = "volatile"
    DIFFERENT = "different"


def masked(answer: Any) -> str:
    """An answer as a text in which times and ids look all alike."""
    return _CHANGING.sub("<changing>", _text(answer))


def compared(first: Any, second: Any) -> Sameness:
    """How the second answer to a question compares to the first."""
    if _text(first) == _text(second):
        return Sameness.SAME
    one, other = masked(first), masked(second)
    if one == other or (_NUMBER.sub("<number>", one) == _NUMBER.sub("<number>", other) and _grew(one, other)):
        return Sameness.VOLATILE
    return Sameness.DIFFERENT


def _text(answer: Any) -> str:
    # Not by msgspec: half a character, which a server can send as an escape, would be an error there.
    text = json.dumps(answer, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… {len(text)}"


def _grew(one: str, other: str) -> bool:
    """Whether each number of the second text is at least what it was in the first."""
    pairs = zip_longest(_NUMBER.findall(one), _NUMBER.findall(other), fillvalue="0")
    return all(float(after) >= float(before) for before, after in pairs)
