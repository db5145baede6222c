"""Texts that do no harm wherever a tool may put them: for formats, for names that say what is meant, for lengths.

No text here names a path that exists, a host that resolves, or anything a shell would run. `turn` counts up from
nought, and every turn gives another text.
"""

import uuid
from collections.abc import Callable, Iterator

from interlock.core.words import words_of

PLAIN = "interlock probe"
FILE = "interlock-probe.txt"


def _day(turn: int) -> str:
    return f"20{26 + turn // 336 % 70}-{1 + turn // 28 % 12:02d}-{1 + turn % 28:02d}"


def _second(turn: int) -> str:
    return f"{turn // 3600 % 24:02d}:{turn // 60 % 60:02d}:{turn % 60:02d}Z"


def _host(turn: int) -> str:
    return f"probe{turn}.example.invalid" if turn else "example.invalid"


def _email(turn: int) -> str:
    return f"probe{turn or ''}@example.invalid"


def _url(turn: int) -> str:
    return f"https://example.invalid/{turn or ''}"


def _file(turn: int) -> str:
    return f"interlock-probe-{turn}.txt" if turn else FILE


def _word(turn: int) -> str:
    return f"interlock-probe-{turn}" if turn else "interlock-probe"


def _plain(turn: int) -> str:
    return f"{PLAIN} {turn}" if turn else PLAIN


def _uuid(turn: int) -> str:
    return str(uuid.UUID(int=turn, version=4))


FORMATS: dict[str, Callable[[int], str]] = {
    "date-time": lambda turn: f"{_day(turn)}T00:00:00Z",
    "date": _day,
    "time": _second,
    "duration": lambda turn: f"PT{turn + 1}S",
    "email": _email,
    "idn-email": _email,
    "uri": _url,
    "url": _url,
    "iri": _url,
    "uri-reference": _file,
    "iri-reference": _file,
    "uri-template": _file,
    "hostname": _host,
    "idn-hostname": _host,
    "ipv4": lambda turn: f"192.0.2.{1 + turn % 254}",
    "ipv6": lambda turn: f"2001:db8::{1 + turn:x}",
    "uuid": _uuid,
    # The pointer to the whole document: the only one without a slash.
    "json-pointer": lambda turn: f"/{_word(turn)}" if turn else "",
    "relative-json-pointer": str,
    "regex": lambda turn: f"interlock{turn or ''}",
    "json": lambda turn: f'{{"interlock": {turn}}}' if turn else "{}",
    "byte": lambda turn: "aW50ZXJsb2Nr",
}
"""A text of each format; a format that is not here is given plain text."""

NAMES: tuple[tuple[frozenset[str], Callable[[int], str]], ...] = (
    (frozenset(("email", "mail")), _email),
    (frozenset(("url", "uri", "href", "link", "endpoint", "website")), _url),
    (frozenset(("host", "hostname", "domain")), _host),
    (frozenset(("path", "paths", "file", "files", "filename", "dir", "directory", "folder")), _file),
    (frozenset(("uuid", "guid")), _uuid),
    (frozenset(("date", "day")), _day),
    (frozenset(("timezone",)), lambda turn: "UTC"),
    (frozenset(("id", "ids", "key", "slug", "branch", "tag", "label", "namespace")), _word),
)
"""What the words of a property's name say about its text; the first row that holds one of them counts."""


def texts(name: str, form: object, turn: int) -> Iterator[str]:
    """Texts to try for a property of this name and format, the likeliest first."""
    if isinstance(form, str) and form in FORMATS:
        yield FORMATS[form](turn)
    words = frozenset(words_of(name[:200]))
    yield from (text(turn) for row, text in NAMES if row & words)
    yield _plain(turn)
    yield _word(turn)
    yield _word(turn).replace("-", "_")
    yield _word(turn).replace("-", "")
    yield str(turn + 1)


def fitted(text: str, shortest: int, longest: int | None) -> str:
    """The text cut or stretched to a length; the end is kept, for it holds what tells one turn from the next."""
    if longest is not None and len(text) > longest:
        return text[len(text) - longest :]
    return text + "x" * (shortest - len(text))
