"""What may be stored or shown of arguments, results and texts: everything but secrets.

Three nets. A key whose name promises a secret (`password`, `api_key`, `Authorization`) hides its whole value, at any
depth. Every remaining text is searched for the shapes of known credentials and for names with their values; a text that
is JSON itself is decoded and treated the same. And values that are known to be secrets are hidden wherever they stand.
Only the copy that goes to disk or screen is redacted; what is digested and what is sent are the real bytes.

Redacting twice is the same as once. What lies deeper than MAX_DEPTH is hidden whole, so that depth is no way round it.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence

from interlock.core.model import Json
from interlock.core.secret_signs import (
    MARKER,
    SECRET_SHAPES,
    is_secret_key,
    is_secret_label,
    may_hold_secrets,
    signs_in,
)

__all__ = [
    "MAX_DEPTH",
    "SECRET_SHAPES",
    "KnownSecrets",
    "has_nothing_to_hide",
    "is_secret_key",
    "is_secret_label",
    "redact",
    "redact_text",
]

MAX_DEPTH = 200

LEAST_KNOWN = 6
"""A known value shorter than this is a word that stands anywhere."""

_LEAST_SIGN = 7
"""No text shorter than this has a sign in it: the shortest is `-pwd=x`."""

_PAIR_NAMES = ("name", "key", "header")
_PAIR_VALUES = frozenset(("value", "values"))
"""`{"name": "Authorization", "value": "…"}` is a key and its value too."""

_TOO_DEEP = "[redacted: nested too deeply to be looked at]"


class KnownSecrets:
    """Values that are hidden wherever they stand, as they are and as JSON writes them."""

    def __init__(self, values: Collection[str] = ()) -> None:
        forms = {form for value in values if len(value) >= LEAST_KNOWN for form in _forms(value)}
        # The longest first, so that of two values of which one begins the other nothing is left.
        self._forms = tuple(sorted(forms, key=len, reverse=True))
        # A text that holds one stands in JSON itself, so what is looked for there is escaped once more.
        self._raw = tuple(_in_json(form).encode("utf-8", "replace") for form in self._forms)
        self._pattern = re.compile("|".join(map(re.escape, self._forms)))

    def are_in(self, json: bytes) -> bool:
        """Whether one of them stands in a JSON text."""
        return any(form in json for form in self._raw)

    def hide(self, text: str) -> str:
        """The text without them."""
        for form in self._forms:
            if form in text:
                return self._pattern.sub("[redacted configured secret]", text)
        return text


def _forms(value: str) -> set[str]:
    """The value, and as it stands in JSON and in JSON text inside JSON."""
    forms, added = {value}, {value}
    for _ in range(2):
        added = {_in_json(form, ascii_only=ascii_only) for form in added for ascii_only in (False, True)}
        forms |= added
    return forms


def _in_json(text: str, *, ascii_only: bool = False) -> str:
    return json.dumps(text, ensure_ascii=ascii_only)[1:-1]


NOTHING_KNOWN = KnownSecrets()


def has_nothing_to_hide(json: bytes, known: KnownSecrets = NOTHING_KNOWN) -> bool:
    """Whether one look at the JSON of a value is enough to know that redacting would change nothing in it.

    This is the common case, and a search in every text of the value would cost far more.
    """
    return not may_hold_secrets(json) and not known.are_in(json)


def redact_text(text: str, known: KnownSecrets = NOTHING_KNOWN) -> str:
    """The text with every secret that can be told in it replaced by what it was."""
    return _text(text, MAX_DEPTH, known)


def redact(value: Json, known: KnownSecrets = NOTHING_KNOWN) -> Json:
    """A copy of a JSON value that may be stored or shown."""
    return _redacted(value, MAX_DEPTH, known)


def _redacted(value: Json, depth: int, known: KnownSecrets) -> Json:
    if isinstance(value, str):
        return _text(value, depth, known)
    if not isinstance(value, Mapping | Sequence):
        return value
    if depth == 0:
        return _TOO_DEEP
    if isinstance(value, Mapping):
        return _object(value, depth - 1, known)
    return _list(value, depth - 1, known)


def _object(members: Mapping[str, Json], depth: int, known: KnownSecrets) -> Json:
    secret_pair = any(isinstance(name := members.get(each), str) and is_secret_label(name) for each in _PAIR_NAMES)
    shown: dict[str, Json] = {}
    for key, value in members.items():
        hidden = _hides(key, value) or (secret_pair and key in _PAIR_VALUES)
        shown[_text(key, 0, known)] = _hidden(value) if hidden else _redacted(value, depth, known)
    return shown


def _list(items: Sequence[Json], depth: int, known: KnownSecrets) -> Json:
    shown: list[Json] = []
    promised = False
    for each in items:
        text = isinstance(each, str)
        shown.append(_hidden(each) if promised and text else _redacted(each, depth, known))
        # `["--password", "x"]`: a flag whose value is the next word.
        promised = text and each.startswith("-") and "=" not in each and is_secret_label(each)
    return shown


def _hides(key: str, value: Json) -> bool:
    """Whether a value is hidden whole because of its key."""
    # A text is a sequence too.
    return is_secret_label(key) if isinstance(value, Sequence) else is_secret_key(key)


def _text(text: str, depth: int, known: KnownSecrets) -> str:
    text = known.hide(text)
    if len(text) < _LEAST_SIGN:
        return text
    # Bytes, because RE2 works on UTF-8 and a lone surrogate must not make us fail.
    raw = text.encode("utf-8", "replace")
    if depth and raw.lstrip()[:1] in (b"{", b"["):
        if not may_hold_secrets(raw):
            return text
        decoded = _json_text(text, depth, known)
        if decoded is not None:
            return decoded
    return _without_signs(text, raw)


def _json_text(text: str, depth: int, known: KnownSecrets) -> str | None:
    """A text that is JSON, redacted as what it stands for and otherwise as it was; None when it is no JSON."""
    try:
        value, repeated = _decoded(text)
    except (ValueError, RecursionError):
        return None
    shown = _redacted(value, depth - 1, known)
    # Of two members with one name only the last was looked at, so the other must not be kept.
    return text if shown == value and not repeated else _ENCODER.encode(shown)


def _decoded(text: str) -> tuple[Json, bool]:
    """What a JSON text stands for, and whether an object in it has two members of one name."""
    try:
        return _STRICT.decode(text), False
    except _NameRepeated:
        return json.loads(text), True


class _NameRepeated(Exception):
    pass


def _members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _NameRepeated
    return members


# The decoder of the standard library, because it also takes what others are too strict for.
_STRICT = json.JSONDecoder(object_pairs_hook=_members)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _without_signs(text: str, raw: bytes) -> str:
    signs = signs_in(raw)
    if not signs:
        return text
    out: list[bytes] = []
    at = 0
    for sign in signs:
        if sign.start >= at:
            out += [raw[at : sign.start], sign.shown]
        at = max(at, sign.end)
    return b"".join([*out, raw[at:]]).decode("utf-8", "replace")


def _hidden(value: Json) -> Json:
    match value:
        case None | "" | True | False:
            return value
        case str():
            return value if MARKER.fullmatch(value) else f"[redacted text of {len(value)} characters]"
        case int() | float():
            return "[redacted number]"
        case Mapping():
            return "[redacted object]"
        case _:
            return "[redacted list]"
