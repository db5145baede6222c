r"""Letters that are written in another way and read the same: wide ones, escaped ones, and such as are not drawn.

A password in letters of full width, `p\u0061ssword`, and one with a blank of no width in its middle are one word to
whoever reads them, or to the program that they are meant for. This module only helps to find something: a text is
shown as it was written, unless there is a secret in it.
"""

import re
import string
from functools import lru_cache

_NOT_DRAWN = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
# Quotes and backslashes are not among them: they would take JSON apart.
_WIDE = {chr(0xFEE0 + ord(char)): char for char in f"{string.ascii_letters}{string.digits}-_.:="}

ALIKE = f"[{_NOT_DRAWN}{''.join(_WIDE)}]"
r"""A pattern for every character that `plain` changes, but for the `\u` of an escape."""

_ALIKE = re.compile(ALIKE)
# Not after what lacks only a letter or two to be an escape: what is read must not be read in yet another way.
_NO_HALF = "".join(rf"(?<!\\u[0-9A-Fa-f]{{{digits}}})" for digits in range(4))
_ESCAPED = re.compile(rf"(?<!\\){_NO_HALF}\\+u([0-9A-Fa-f]{{4}})")


def plain(text: str) -> str:
    """The text as it is read. What is plain stays as it is."""
    if not text.isascii():
        text = _ALIKE.sub(_drawn, text)
    return _ESCAPED.sub(_meant, text) if "\\u" in text else text


def _drawn(char: re.Match[str]) -> str:
    return _WIDE.get(char[0], "")


def _meant(escape: re.Match[str]) -> str:
    read = _read(escape[1])
    return escape[0] if read is None else read


@lru_cache(4096)
def _read(digits: str) -> str | None:
    """What an escape is read as. Only letters and digits: any other character may belong to how a text is built."""
    char = _ALIKE.sub(_drawn, chr(int(digits, 16)))
    return char if not char or char.isalnum() else None
