"""Characters that a person does not see, and the one way in which we write them so that they are seen.

A name or a description from outside may hold escape sequences that rewrite a screen, bidi marks that make `delete` look
like something else, or whole sentences in characters that print as nothing. Whatever shows such a text, on a terminal
or in a report, passes it through `visible` first. This module judges nothing: the scan says what is wrong with a text.
"""

import unicodedata

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
PRINTS_AS_NOTHING = frozenset("\u180b\u180c\u180d\u180f\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that print as nothing."""


def visible(text: str) -> str:
    """The text with control, bidi, zero-width, odd space and unassigned characters made visible as <U+202E>."""
    return "".join(f"<U+{ord(char):04X}>" if is_hidden(char) else char for char in text)


def is_hidden(char: str) -> bool:
    """Whether a character would not be seen, or not be seen for what it is."""
    if char == " ":
        return False
    return unicodedata.category(char) in _HIDDEN_CATEGORIES or char in PRINTS_AS_NOTHING or selects_variant(char)


def selects_variant(char: str) -> bool:
    """Whether a character only chooses how the one before it looks."""
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
