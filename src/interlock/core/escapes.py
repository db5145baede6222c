r"""What escapes stand for, and where it stood: `%2B`, `\u002b` and `\/`, alone or among plain letters.

Whoever writes an address or JSON chooses which letters to escape, so there is no end of ways to write one value; but
without its escapes it has one. Backslashes and percent signs that were escaped themselves, once per level of JSON or of
addresses inside of one another, are taken for one.

This module undoes nothing for those who read or send a text: it only helps to find something in it.
"""

import json
import re
from array import array
from collections.abc import Sequence

import re2

_ESCAPE = re.compile(
    rb"%(?:25)*([0-9A-Fa-f]{2})|\\+(/)|\\+u([Dd][89ABab][0-9A-Fa-f]{2})\\+u([Dd][C-Fc-f][0-9A-Fa-f]{2})"
    rb"|\\+u([0-9A-Fa-f]{4})"
)


def may_have_escapes(text: bytes) -> bool:
    return b"%" in text or b"\\" in text


def spellings(text: str) -> str:
    """A pattern of RE2 for a text of which any letters may be escaped, and blanks be written as in a form."""
    return "".join(map(_spellings, text))


def _spellings(char: str) -> str:
    in_json = re2.escape(json.dumps(char)[-2])
    address = "".join(f"%(?:25)*{byte:02x}" for byte in char.encode())
    units = char.encode("utf-16-be").hex()
    escapes = "".join(rf"\\+u{units[at : at + 4]}" for at in range(0, len(units), 4))
    plain = r" |\+" if char == " " else re2.escape(char)
    return rf"(?:{plain}|\\+{in_json}|(?i:{address}|{escapes}))"


def unescaped(text: bytes) -> bytes:
    """The text with what its escapes stand for, in UTF-8."""
    return _ESCAPE.sub(_meant, text)


def origins(text: bytes) -> Sequence[int]:
    """Where in the text each byte of `unescaped` comes from, and the end of the text."""
    places, at = array("q"), 0
    for escape in _ESCAPE.finditer(text):
        places.extend(range(at, escape.start()))
        places.extend([escape.start()] * len(_meant(escape)))
        at = escape.end()
    places.extend(range(at, len(text) + 1))
    return places


def _meant(escape: re.Match[bytes]) -> bytes:
    byte, slash, high, low, unit = escape.groups()
    if byte is not None:
        return bytes((int(byte, 16),))
    if slash is not None:
        return slash
    units = unit if unit is not None else high + low
    return bytes.fromhex(units.decode()).decode("utf-16-be", "replace").encode()
