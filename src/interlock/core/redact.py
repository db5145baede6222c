"""What may be stored or shown of arguments, results and texts: everything but secrets.

Two nets. A key whose name promises a secret (`password`, `api_key`, `Authorization`) hides its whole value, at any
depth. Every remaining text is searched for the shapes of known credentials, wherever they stand in it. Only the copy
that goes to disk or screen is redacted; what is digested and what is sent are the real bytes.

What lies deeper than MAX_DEPTH is hidden whole, so that depth is no way round it.
"""

import itertools
from collections.abc import Mapping, Sequence

import re2

from interlock.core.model import Json
from interlock.core.words import word_set, words_of

MAX_DEPTH = 200

SECRET_KEYS = word_set(
    "password passwd passphrase pwd secret secrets token tokens apikey authorization cookie cookies credential"
    " credentials bearer otp pin cvv cvc ssn privatekey accesskey secretkey connectionstring"
)
"""A key is secret when one of its words, or all of them joined, is in this list."""

SECRET_PAIRS = frozenset(
    (first, second)
    for second, firsts in (("key", "api access private secret signing auth encryption client master"),)
    for first in firsts.split()
) | {("connection", "string")}
"""Or when two of its words stand side by side like this."""

HARMLESS_KEYS = word_set("max_tokens maxtokens token_count tokencount tokens_used page_token next_page_token")
"""Keys that sound secret and are not: hiding them would only hide what a reviewer needs."""

SECRET_SHAPES: tuple[tuple[str, str], ...] = (
    ("private-key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)"),
    ("interlock-token", r"\bil_[A-Za-z0-9]+_[A-Za-z0-9_-]{16,}"),
    ("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    ("bearer", r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{12,}"),
    ("url-password", r"\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@]*:[^\s/@]+@"),
    ("github", r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    ("gitlab", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("openai", r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}"),
    ("anthropic", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    ("stripe", r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("stripe-webhook", r"\bwhsec_[A-Za-z0-9+/=]{16,}"),
    ("slack", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("slack-webhook", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]+"),
    ("aws-key-id", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    ("google-api", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("google-oauth", r"\bya29\.[A-Za-z0-9_-]{20,}"),
    ("azure", r"(?i)\b(?:AccountKey|SharedAccessKey|sig)=[A-Za-z0-9+/%=]{20,}"),
    ("npm", r"\bnpm_[A-Za-z0-9]{30,}"),
    ("pypi", r"\bpypi-[A-Za-z0-9_-]{40,}"),
    ("digitalocean", r"\bdo[opr]_v1_[a-f0-9]{40,}"),
    ("huggingface", r"\bhf_[A-Za-z0-9]{30,}"),
    ("sendgrid", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("telegram", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}"),
    ("shopify", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("vault", r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}"),
    ("notion", r"\b(?:ntn_[A-Za-z0-9]{30,}|secret_[A-Za-z0-9]{40,})"),
    ("linear", r"\blin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    ("age-key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    ("flag", r"(?i)--?(?:password|passwd|secret|token|api[_-]?key)[= ]+[^\s\"']{3,}"),
    ("assignment", r"(?i)\b(?:password|passwd|pwd|secret|token|api[_-]?key)\s*[=:]\s*[^\s,;&\"']{6,}"),
)
"""Shapes of credentials, each anchored on what the issuer always writes. Order is only for naming."""


_OPTIONS = re2.Options()
_OPTIONS.never_capture = True
_SHAPES = tuple((name, re2.compile(shape, _OPTIONS)) for name, shape in SECRET_SHAPES)
_ANY_SHAPE = re2.compile("|".join(f"(?:{shape})" for _, shape in SECRET_SHAPES), _OPTIONS)
"""One pass for the common case, in which there is nothing to hide."""


def is_secret_key(key: str) -> bool:
    """Whether a key's name promises a secret."""
    if key.lower() in HARMLESS_KEYS:
        return False
    words = words_of(key)
    pairs = itertools.pairwise(words)
    return not SECRET_KEYS.isdisjoint(words) or "".join(words) in SECRET_KEYS or not SECRET_PAIRS.isdisjoint(pairs)


def redact_text(text: str) -> str:
    """The text with every known shape of a credential replaced by its name."""
    # Bytes, because RE2 works on UTF-8 and a lone surrogate must not make us fail.
    raw = text.encode("utf-8", "replace")
    if _ANY_SHAPE.search(raw) is None:
        return text
    found = sorted((*match.span(), name) for name, shape in _SHAPES for match in shape.finditer(raw))
    out: list[bytes] = []
    at = 0
    for start, end, name in found:
        if start >= at:
            out += [raw[at:start], f"[redacted {name}]".encode()]
        at = max(at, end)
    return b"".join([*out, raw[at:]]).decode("utf-8", "replace")


def redact(value: Json) -> Json:
    """A copy of a JSON value that may be stored or shown."""
    return _redacted(value, MAX_DEPTH)


def _redacted(value: Json, depth: int) -> Json:
    if isinstance(value, str):
        return redact_text(value)
    if not isinstance(value, Mapping | Sequence):
        return value
    if depth == 0:
        return "[redacted: nested too deeply to be looked at]"
    if isinstance(value, Mapping):
        return {redact_text(key): _member(key, each, depth - 1) for key, each in value.items()}
    return [_redacted(each, depth - 1) for each in value]


def _member(key: str, value: Json, depth: int) -> Json:
    if is_secret_key(key) and value not in (None, "", True, False):
        return f"[redacted {_kind(value)}]"
    return _redacted(value, depth)


def _kind(value: Json) -> str:
    match value:
        case str():
            return f"text of {len(value)} characters"
        case int() | float():
            return "number"
        case Mapping():
            return "object"
        case _:
            return "list"
