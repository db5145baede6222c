"""What may be stored or shown of arguments, results and texts: everything but secrets.

Three nets. A key whose name promises a secret (`password`, `api_key`, `Authorization`) hides its whole value, at any
depth. Every remaining text is searched for the shapes of known credentials and for names with their values; a text that
is JSON itself is decoded and treated the same. And values that are known to be secrets are hidden wherever they stand.
Only the copy that goes to disk or screen is redacted; what is digested and what is sent are the real bytes.

Redacting twice is the same as once. What lies deeper than MAX_DEPTH is hidden whole, so that depth is no way round it.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus

import re2

from interlock.core.escapes import may_have_escapes, origins, spellings, unescaped
from interlock.core.model import Json
from interlock.core.secret_letters import plain
from interlock.core.secret_names import MARKER, is_secret_header, is_secret_key, is_secret_label
from interlock.core.secret_shapes import KEY_LINES, SECRET_SHAPES
from interlock.core.secret_signs import Sign, may_hold_secrets, signs_in
from interlock.core.words import word_set, words_of

__all__ = [
    "MAX_DEPTH",
    "NOTHING_KNOWN",
    "SECRET_SHAPES",
    "KnownSecrets",
    "has_nothing_to_hide",
    "is_secret_key",
    "is_secret_label",
    "redact",
    "redact_text",
    "redact_texts",
]

MAX_DEPTH = 200

LEAST_MARKED, LEAST_DIFFERENT = 16, 8
"""How long a secret is, and how many different bytes are in it, before it gets a mark. Whoever can both call a tool and
read the record could try what others are likely to be, one call each."""

MARK_BYTES = 4

LEAST_KNOWN = 6
"""A known value shorter than this is a word that stands anywhere."""

_BEGINNING = 12
"""So many bytes of a known value are looked for first."""
_LOOK = re2.Options()
_LOOK.never_capture, _LOOK.log_errors, _LOOK.max_mem = True, False, 64 * 1024 * 1024

_PERCENT = re.compile("%[0-9A-F]{2}")
_URL_SAFE = str.maketrans("+/", "-_")

_LEAST_SIGN = 6
"""No text shorter than this has a sign in it: the shortest is `-pwd=x`."""

_LOOKS = 4
"""So often a text is looked at while something shows itself: of two credentials without a gap between them, one may be
seen only when the other is gone."""

_PAIR_NAMES = frozenset(("name", "key", "header"))
_PAIR_VALUES = frozenset(("value", "values"))
"""`{"name": "Authorization", "value": "…"}` is a key and its value too."""
_LISTS_OF_PAIRS = word_set("header headers env environ environment variables vars")
"""As the last word of a key: `{"headers": [["Authorization", "…"]]}` holds keys and their values too."""
_KEY_LINES: tuple[tuple[Any, Any], ...] = tuple((re2.compile(begin), re2.compile(end)) for begin, end in KEY_LINES)

HIDDEN = "[redacted"
"""How everything begins that stands in the place of a secret."""
_TOO_DEEP = "[redacted: nested too deeply to be looked at]"


class KnownSecrets:
    """Values that are hidden wherever they stand: as they are, encoded in the usual ways, and as JSON writes that,
    whichever of their letters are escaped."""

    def __init__(self, values: Collection[str] = (), key: bytes = b"") -> None:
        """With a key, what is hidden gets a mark that is the same wherever the same secret was."""
        self._key = key
        forms = {form: value for value in values if len(value) >= LEAST_KNOWN for form in _forms(value)}
        self._values = {_raw(form): value for form, value in forms.items()}
        self._by_beginning: dict[bytes, list[bytes]] = {}
        # The longest first, so that of two values of which one begins the other nothing is left.
        for form in sorted(self._values, key=len, reverse=True):
            self._by_beginning.setdefault(form[:LEAST_KNOWN], []).append(form)
        self._begins = _one_look(forms)
        # A text that holds one stands in JSON itself, so what is looked for there is escaped once more.
        self._begins_in_json = _one_look(map(_in_json, forms))
        self._begins_escaped = _look_for(spellings(each) for each in _beginnings(forms.values()))

    def are_in(self, json: bytes) -> bool:
        """Whether one of them may stand in a JSON text."""
        if not self._values:
            return False
        return self._begins_in_json.search(json) is not None or self._begin_escaped(json)

    def _begin_escaped(self, raw: bytes) -> bool:
        return may_have_escapes(raw) and self._begins_escaped.search(raw) is not None

    def hide(self, text: str) -> str:
        """The text without them."""
        if not self._values:
            return text
        raw = _raw(text)
        shown = self._without(raw, raw, range(len(raw) + 1)) if self._begins.search(raw) is not None else raw
        if self._begin_escaped(shown):
            shown = self._without(shown, unescaped(shown), origins(shown))
        return text if shown is raw else shown.decode()

    def _without(self, raw: bytes, read: bytes, places: Sequence[int]) -> bytes:
        """The bytes of a text without them. `read` is what they stand for, and `places` where each byte of that, and
        its end, stand in them. If there is none, it is the same object."""
        shown, at = bytearray(), 0
        for start, form in self._found(read):
            shown += raw[at : places[start]] + self._instead(form)
            at = places[start + len(form)]
        return bytes(shown + raw[at:]) if at else raw

    def _found(self, raw: bytes) -> Iterator[tuple[int, bytes]]:
        """Where they stand; of those that begin at one place the longest. Only where one may begin is it compared: to
        try thousands of forms at every place would take a second for what a busy server says."""
        begin = self._begins.search(raw)
        while begin is not None:
            start = begin.start()
            forms = self._by_beginning.get(raw[start : start + LEAST_KNOWN], ())
            form = next((each for each in forms if raw.startswith(each, start)), None)
            if form is not None:
                yield start, form
            begin = self._begins.search(raw, start + (1 if form is None else len(form)))

    def _instead(self, form: bytes) -> bytes:
        return self.marker("configured secret", _raw(self._values[form])).encode()

    def marker(self, kind: str, secret: bytes) -> str:
        """What stands in place of a secret."""
        if not self._key or len(secret) < LEAST_MARKED or len(set(secret)) < LEAST_DIFFERENT:
            return f"[redacted {kind}]"
        mark = hashlib.blake2b(secret, digest_size=MARK_BYTES, key=self._key).hexdigest()
        # In front of the kind, because `bearer 4f3a9c1e` would be a secret itself.
        return f"[redacted {mark} {kind}]"


def _raw(text: str) -> bytes:
    """The bytes of a text. Half a letter must not make us fail."""
    return text.encode("utf-8", "replace")


def _one_look(forms: Iterable[str]) -> Any:
    """A pattern that finds where any of many texts may begin. All are looked for at once, because each value has a
    dozen forms, and no more than the beginning, because a value may be a file."""
    return _look_for(map(re2.escape, _beginnings(forms)))


def _beginnings(texts: Iterable[str]) -> set[str]:
    return {_raw(each[:_BEGINNING]).decode() for each in texts}


def _look_for(patterns: Iterable[str]) -> Any:
    return re2.compile("|".join(patterns), _LOOK)


def _forms(value: str) -> set[str]:
    """The value and what it is encoded as, and how that stands in JSON and in JSON text inside JSON."""
    raw = _raw(value)
    forms = {value, raw.hex(), raw.hex().upper(), *_in_addresses(value), *_in_base64(raw)}
    added = forms
    for _ in range(2):
        added = {_in_json(form, ascii_only=ascii_only) for form in added for ascii_only in (False, True)}
        forms |= added
    return forms


def _in_addresses(value: str) -> Iterator[str]:
    yield value.replace(" ", "+")
    for written in (
        quote(value, errors="replace"),
        quote(value, safe="", errors="replace"),
        quote_plus(value, errors="replace"),
    ):
        yield written
        yield _PERCENT.sub(lambda escape: escape[0].lower(), written)


def _in_base64(raw: bytes) -> Iterator[str]:
    """The letters that stand for a value wherever it begins: one letter holds parts of two bytes, so there are three
    ways, and the first and the last letter depend on what stands around it."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + raw)
        known = whole[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6].decode()
        yield from (known, known.translate(_URL_SAFE))


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


def redact_texts(value: Json, known: KnownSecrets = NOTHING_KNOWN) -> Json:
    """A copy in which each text is looked at by itself, and no name hides what is kept under it: in the schema of a
    tool, what is called `password` is described and not given. Depth is bounded where such a value is decoded."""
    if isinstance(value, str):
        return redact_text(value, known)
    if isinstance(value, Mapping):
        return {redact_text(name, known): redact_texts(each, known) for name, each in value.items()}
    return [redact_texts(each, known) for each in value] if isinstance(value, Sequence) else value


def _redacted(value: Json, depth: int, known: KnownSecrets, key: str = "") -> Json:
    if isinstance(value, str):
        return _text(value, depth, known)
    if not isinstance(value, Mapping | Sequence):
        return value
    if depth == 0:
        return _TOO_DEEP
    if isinstance(value, Mapping):
        return _object(value, depth - 1, known)
    return _list(value, depth - 1, known, key)


def _object(members: Mapping[str, Json], depth: int, known: KnownSecrets) -> Json:
    names = (name for key, name in members.items() if key.lower() in _PAIR_NAMES)
    secret_pair = any(isinstance(name, str) and is_secret_label(name) for name in names)
    shown: dict[str, Json] = {}
    for key, value in members.items():
        hidden = _hides(key, value) or (secret_pair and key.lower() in _PAIR_VALUES)
        shown[_text(key, 0, known)] = _hidden(value, known) if hidden else _redacted(value, depth, known, key)
    return shown


def _list(items: Sequence[Json], depth: int, known: KnownSecrets, key: str) -> Json:
    """A list that may be a command line, the lines of a key, or pairs of names and values."""
    names = is_secret_label if not _LISTS_OF_PAIRS.isdisjoint(words_of(key)[-1:]) else is_secret_header
    shown: list[Json] = []
    promised, end = False, None
    for each in items:
        if isinstance(each, str):
            shown.append(_hidden(each, known) if promised or end else _text(each, depth, known))
            promised, end = _promises(each), _end_of_key(plain(each), end)
        else:
            shown.append(_pair(each, names, known) or _redacted(each, depth, known))
            promised = False
    return shown


def _promises(word: str) -> bool:
    """`["--password", "x"]`: a flag whose value is the next word."""
    return word.startswith("-") and not word.startswith("---") and "=" not in word and is_secret_label(word)


def _end_of_key(line: str, end: Any) -> Any:
    """What a key of many lines ends with that goes on after this line; None if there is none."""
    raw = _raw(line)
    for begin, closing in _KEY_LINES if end is None else ():
        if (found := begin.search(raw)) is not None:
            raw, end = raw[found.end() :], closing
    return None if end is None or end.search(raw) else end


def _pair(item: Json, names: Callable[[str], bool], known: KnownSecrets) -> Json:
    """`["Authorization", "x"]` without its value; None if it is no pair."""
    match item:
        case [str(name), str(value)] if names(name):
            return [_text(name, 0, known), _hidden(value, known)]
        case _:
            return None


def _hides(key: str, value: Json) -> bool:
    """Whether a value is hidden whole because of its key."""
    # A text is a sequence too.
    return is_secret_label(key) if isinstance(value, Sequence) else is_secret_key(key)


def _text(text: str, depth: int, known: KnownSecrets) -> str:
    """What may be shown of a text. A character that is not drawn, or is written in another way, does not keep a secret
    from being one: if there is one in what is read, then that is shown."""
    shown = _as_written(text, depth, known)
    bare = plain(shown)
    again = shown if bare == shown else _as_written(bare, depth, known)
    return shown if again == bare else again


def _as_written(text: str, depth: int, known: KnownSecrets) -> str:
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
    return _without_signs(text, raw, known)


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


def _without_signs(text: str, raw: bytes, known: KnownSecrets) -> str:
    looks = 0
    while looks < _LOOKS and (signs := signs_in(raw)):
        raw = _marked(raw, signs, known)
        text, looks = raw.decode("utf-8", "replace"), looks + 1
    return text


def _marked(raw: bytes, signs: Sequence[Sign], known: KnownSecrets) -> bytes:
    out: list[bytes] = []
    at = 0
    for sign in signs:
        if sign.start >= at:
            marker = known.marker(sign.kind, raw[sign.secret]).encode()
            out += [raw[at : sign.start], sign.quote, marker, sign.quote]
        at = max(at, sign.end)
    return b"".join([*out, raw[at:]])


def _hidden(value: Json, known: KnownSecrets) -> Json:
    match value:
        case None | "" | True | False:
            return value
        case str():
            if MARKER.fullmatch(value):
                return value
            return known.marker(f"text of {len(value)} characters", value.encode("utf-8", "replace"))
        case int() | float():
            return "[redacted number]"
        case Mapping():
            return "[redacted object]"
        case _:
            return "[redacted list]"
