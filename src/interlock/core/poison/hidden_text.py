"""Which characters of a text hide something, and which only look as if they did.

A description is read by a model letter by letter and by a person as it is drawn, and between the two there is room for
whole sentences. But honest texts have invisible characters too: emoji are put together with them, Persian and Hindi
spell with them, Hebrew and Arabic are set with them. This module knows those uses and refuses to call them hidden; it
knows no others.
"""

import re
from collections import Counter
from enum import StrEnum
from itertools import islice
from unicodedata import bidirectional, category, name

from msgspec import Struct

from interlock.core.hidden import visible

_AROUND = 40
"""How many characters around the first hidden one are shown."""
_MOST_FOUND = 2_000
_MOST_NAMED = 8
_TAG_BASE = 0xE0000
_FLAG = "\U0001f3f4"
_END_OF_TAGS = "\U000e007f"
_MARKS = "\u061c\u200e\u200f"
_EMOJI_MARKS = frozenset("\u203c\u2049\u2139\u3030\u303d")
"""Signs that are drawn as emoji and are no symbols by their category."""


class HiddenKind(StrEnum):
    """What hidden characters do."""

    BIDI = "turns the direction of writing"
    ZERO_WIDTH = "takes no room"
    TAG = "spells text that is never drawn"
    VARIATION = "chooses a look that nothing has"
    OPERATOR = "is an operator that is never drawn"
    FILLER = "is a letter without a shape"
    PRIVATE = "has no agreed meaning"
    CONTROL = "steers a terminal"


_KINDS: tuple[tuple[HiddenKind, str], ...] = (
    (HiddenKind.BIDI, "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"),
    (HiddenKind.ZERO_WIDTH, "\u00ad\u034f\u180e\u200b-\u200d\u2060\ufeff"),
    (HiddenKind.TAG, "\U000e0000-\U000e007f"),
    (HiddenKind.VARIATION, "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"),
    (HiddenKind.OPERATOR, "\u2061-\u2065\u206a-\u206f\ufff9-\ufffb\U0001d173-\U0001d17a"),
    (HiddenKind.FILLER, "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"),
    (HiddenKind.PRIVATE, "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"),
    (HiddenKind.CONTROL, "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff"),
)
_SUSPECT = re.compile("|".join(f"(?P<{kind.name}>[{characters}])" for kind, characters in _KINDS))


class Hidden(Struct, frozen=True):
    """What is hidden in one text."""

    kinds: tuple[HiddenKind, ...]
    characters: str
    """Which, and how often: `U+202E, U+200B (3 times)`."""
    excerpt: str
    """The text around the first of them, with all of them made visible."""
    says: str
    """What tag characters spell; empty where there are none."""
    count: int
    inside_word: bool
    """Whether one of them stands between two letters or digits, where nothing slips in by accident."""


def hidden_in(text: str) -> Hidden | None:
    """What is hidden in a text, or None."""
    suspects = list(islice(_SUSPECT.finditer(text), _MOST_FOUND))
    # Looked up once for the whole text, which may be full of marks.
    marks = _MARKS if any(each["BIDI"] for each in suspects) and _goes_left(text) else ""
    found = [each for each in suspects if each[0] not in marks and not _is_honest(text, each)]
    if not found:
        return None
    kinds = tuple(dict.fromkeys(HiddenKind[_kind(each)] for each in found))
    counts = Counter(f"U+{ord(each[0]):04X}" for each in found)
    named = [f"{point} ({count} times)" if count > 1 else point for point, count in counts.items()]
    more = f" and {len(named) - _MOST_NAMED} others" if len(named) > _MOST_NAMED else ""
    first = found[0].start()
    says = "".join(chr(ord(each[0]) - _TAG_BASE) for each in found if each["TAG"])
    return Hidden(
        kinds,
        ", ".join(named[:_MOST_NAMED]) + more,
        visible(text[max(first - _AROUND, 0) : first + _AROUND]),
        "".join(char for char in says if char.isprintable())[:200],
        len(found),
        any(_is_inside_word(text, each.start()) for each in found),
    )


def _is_inside_word(text: str, at: int) -> bool:
    return text[at] != "\u00ad" and text[at - 1 : at].isalnum() and text[at + 1 : at + 2].isalnum()


def _kind(found: re.Match[str]) -> str:
    return found.lastgroup or ""


def _goes_left(text: str) -> bool:
    """Whether a text has letters that are written from right to left, among which marks have a use."""
    return any(bidirectional(char) in ("R", "AL") and category(char)[0] == "L" for char in text)


def _is_honest(text: str, found: re.Match[str]) -> bool:
    """Whether a character has a use where it stands."""
    at = found.start()
    match HiddenKind[_kind(found)]:
        case HiddenKind.ZERO_WIDTH:
            return text[at] in "\u200c\u200d" and _joins(text, at)
        case HiddenKind.VARIATION:
            return _draws(text, at)
        case HiddenKind.TAG:
            return _is_flag(text, at)
        case _:
            return False


def _joins(text: str, at: int) -> bool:
    """Whether a joiner stands between two emoji, or between letters of a script that joins its letters."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if text[at] == "\u200d" and _is_emoji(after):
        return _is_emoji(before) or before == "\ufe0f"
    return _is_joining(before) and (_is_joining(after) or after in ("", " "))


def _is_emoji(char: str) -> bool:
    return char > "\u00ff" and category(char) in ("So", "Sk")


def _is_joining(char: str) -> bool:
    """Whether a letter or mark is of a script from Arabic to Khmer, or of Mongolian: those spell with joiners."""
    return "\u0600" <= char <= "\u18af" and category(char)[0] in "LM"


def _draws(text: str, at: int) -> bool:
    """Whether a selector follows something that has more than one look."""
    before = text[at - 1 : at]
    if text[at] in "\ufe0e\ufe0f":
        keycap = before in tuple("0123456789#*") and text[at + 1 : at + 2] == "\u20e3"
        return keycap or before in _EMOJI_MARKS or (before > "\x7f" and category(before)[0] == "S")
    return text[at] >= "\U000e0100" and bool(before) and name(before, "").startswith("CJK UNIFIED IDEOGRAPH")


def _is_flag(text: str, at: int) -> bool:
    """Whether a tag is part of the flag of a country's part: a black flag, at most seven tags, an end."""
    begin = text.rfind(_FLAG, max(at - 8, 0), at)
    end = text.find(_END_OF_TAGS, at, at + 8)
    inside = text[begin + 1 : end]
    return (
        begin >= 0
        and end >= 0
        and 3 <= len(inside) <= 6
        and all("\U000e0030" <= char <= "\U000e007a" for char in inside)
    )
