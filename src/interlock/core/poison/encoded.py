"""Texts inside a text: base64, hexadecimal, escapes, letters shifted or reversed, as far as they are writing.

Models decode such things without being asked. What decodes to something that is no writing (an image, a hash, a key) is
left alone; what decodes to an order or a program is judged by whoever asked. Everything is bounded: how many are tried,
how long they are, and how often one is inside another.
"""

import base64
import binascii
import codecs
import html
import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

_MOST, _LONGEST, _DEEPEST = 32, 16 * 1024, 2
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX = re.compile(r"\b(?:0x)?(?:[0-9a-fA-F]{2}[ :,]?){10,}")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2}){3}|(?:%[0-9a-fA-F]{2}[A-Za-z]{0,3}){4}")
_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\u\{[0-9a-fA-F]{1,6}\})")
_ENTITIES = re.compile(r"(?:&#(?:\d{2,5}|[xX][0-9a-fA-F]{2,4});\s?){4}")
_NUMBERS = re.compile(r"(?:\b(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])\b[ ,]{1,2}){12,}")
_BINARY = re.compile(r"(?:[01]{8}\s?){8,}")
_IMAGE = re.compile(r"data:(?:image|font|audio|video)/[\w.+-]+;base64,[A-Za-z0-9+/=_-]*")


def inner_texts(text: str, depth: int = _DEEPEST) -> Iterator[str]:
    """The writing that is encoded in a text, and what is encoded in that."""
    plain = _IMAGE.sub(" ", text[:_LONGEST])
    for each in islice(_decoded(plain), _MOST):
        yield each
        if depth > 1:
            yield from inner_texts(each, depth - 1)


def turned(text: str) -> tuple[str, str]:
    """The text with its letters shifted by half the alphabet, and from its end to its beginning."""
    short = text[:_LONGEST]
    return codecs.encode(short, "rot13"), short[::-1]


def _decoded(text: str) -> Iterator[str]:
    # What each way of writing cannot do without is looked for first: most texts that come here are one long word.
    for match in islice(_BASE64.finditer(text), _MOST):
        yield from _from_base64(match[0])
    for match in islice(_HEX.finditer(text), _MOST):
        yield from _written(_from_hex(match[0]))
    if "%" in text and _PERCENT.search(text):
        yield unquote(text, errors="replace")
    if "\\" in text and len(_ESCAPES.findall(text)) >= 6:
        yield _ESCAPES.sub(lambda found: _character(found[0]), text)
    if "&#" in text and _ENTITIES.search(text):
        yield html.unescape(text)
    for match in islice(_NUMBERS.finditer(text) if "," in text or " " in text else (), _MOST):
        yield "".join(chr(int(each)) for each in re.findall(r"\d+", match[0]))
    for match in islice(_BINARY.finditer(text) if "01" in text or "10" in text else (), _MOST):
        digits = "".join(match[0].split())
        yield from _written(bytes(int(digits[at : at + 8], 2) for at in range(0, len(digits) - 7, 8)))


def _from_base64(run: str) -> Iterator[str]:
    bare = run.rstrip("=").replace("-", "+").replace("_", "/")
    bare = bare[: len(bare) - (len(bare) % 4 == 1)]
    content = base64.b64decode(bare + "=" * (-len(bare) % 4))
    yield from _written(content)
    if content[1::2].count(0) * 2 > len(content) // 2:
        yield from _written(content.decode("utf-16-le", "ignore").encode())


def _from_hex(run: str) -> bytes:
    digits = re.sub(r"^0x|[^0-9a-fA-F]", "", run)
    return binascii.unhexlify(digits[: len(digits) // 2 * 2])


def _written(content: bytes) -> Iterator[str]:
    """The text of some bytes, if it is writing: nearly all of it is printable, and there are words."""
    text = content.decode("utf-8", "ignore")
    if len(text) >= 6 and len(text.encode()) * 10 >= len(content) * 9 and _is_shown(text):
        yield text


def _is_shown(text: str) -> bool:
    if text.replace("\n", "").replace("\t", "").isprintable():
        return True
    return sum(char.isprintable() or char in "\n\t" for char in text) * 10 >= len(text) * 9


def _character(escape: str) -> str:
    digits = escape.lstrip("\\ux{").rstrip("}")
    point = int(digits or "0", 16)
    return chr(point) if point < 0x110000 and not 0xD800 <= point < 0xE000 else " "
