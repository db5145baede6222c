"""What the name of a value promises: whether a secret is kept under it.

A name speaks through its words, so that `DB_PASSWORD`, `dbPassword` and `db.password` are one; and where words are not
set apart, as in `PGPASSWORD`, through its end. This module sees no values.
"""

import itertools
import re
from enum import IntEnum
from functools import lru_cache

import re2

from interlock.core.secret_letters import plain
from interlock.core.words import word_set, words_of

SECRET_KEYS = word_set(
    "password passwd passphrase passcode pwd secret secrets token tokens apikey authorization cookie cookies credential"
    " credentials bearer otp pin cvv cvc ssn privatekey accesskey secretkey connectionstring sessionid jsessionid"
    " phpsessid passwort kennwort wachtwoord contrasena senha motdepasse"
)
"""A key is secret when one of its words, or all of them joined, is in this list."""

SECRET_PAIRS = frozenset(
    (first, second)
    for second, firsts in (("key", "api access private secret signing auth encryption client master"),)
    for first in firsts.split()
) | {("connection", "string"), ("session", "id")}
"""Or when two of its words stand side by side like this."""

_ENDINGS = (*word_set("secret token credential credentials"), *map("".join, SECRET_PAIRS))
_NUMBERED_ENDINGS = tuple(word_set("password passwd passphrase passcode passwort kennwort wachtwoord"))
"""Or when one of its words ends like this: `authtoken`, `dbpassword`, `password2`. Of the short ones none is here: a
language has words that end in `pass`, `pin` or `auth`. And `token0` is one of two things that are traded."""

SECRET_ABROAD = (
    "contraseña",
    "contrasen\u0303a",
    "пароль",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
)
"""Or when one of these stands in it: where a word ends is not known in every script."""

SECRET_LABELS = word_set("pass auth jwt") | frozenset(
    first + second
    for first in word_set(
        "ssh db user root admin sql mysql pg postgres redis ftp smtp imap mail ldap sudo vnc key store"
    )
    for second in ("pass", "pwd")
)
"""As the last word of a key these promise a secret too, if what is kept under it is a text or a list. An object is
looked into, and a number is left: `auth` has settings, and `pass` counts tests. `compass` and `OLDPWD` are none."""

SECRET_HEADERS = word_set("authorization proxy-authorization cookie set-cookie x-api-key x-auth-token")
"""Headers that hold nothing but a secret, wherever one stands beside its value."""

HARMLESS_KEYS = word_set(
    "max_tokens maxtokens token_count tokencount tokens_used page_token pagetoken next_page_token nextpagetoken"
)
"""Keys that sound secret and are not: hiding them would only hide what a reviewer needs."""

HINTS = "|".join(
    (
        "pass|pwd|secret|token|key|auth|cookie|credential|bearer|otp|pin|cvv|cvc|ssn|jwt|sess|connection",
        "kennwort|wachtwoord|contrasena|senha|mot de passe",
        *SECRET_ABROAD,
    )
)
"""In every name that promises a secret there is one of these."""

MARKER = re.compile(r"\[redacted[a-z0-9 :-]*\]")
"""What stands in place of a secret, and is therefore none."""

_ABROAD = re2.compile(f"(?i){'|'.join(SECRET_ABROAD)}")
_DIGITS = "0123456789"
_LONG_NAME = 100
"""Longer names are judged each time, so that what is remembered stays small."""


class _Promise(IntEnum):
    """What a name promises."""

    NOTHING = 0
    SECRET_TEXT = 1
    SECRET = 2


def is_secret_key(key: str) -> bool:
    """Whether a key's name promises a secret, whatever is kept under it."""
    return _promise(key) is _Promise.SECRET


def is_secret_label(key: str) -> bool:
    """Whether a key's name promises a secret if a text is kept under it."""
    return _promise(key) is not _Promise.NOTHING


def is_secret_header(name: str) -> bool:
    """Whether a name is that of a header and of nothing else, so that what stands beside it is its value."""
    return name.lower() in SECRET_HEADERS


def _promise(key: str) -> _Promise:
    return _remembered(key) if len(key) <= _LONG_NAME else _judged(key)


def _judged(key: str) -> _Promise:
    if key.lower() in HARMLESS_KEYS:
        return _Promise.NOTHING
    name = plain(MARKER.sub("", key))
    words = words_of(name)
    if _are_secret(words) or (not name.isascii() and _ABROAD.search(name.encode("utf-8", "replace")) is not None):
        return _Promise.SECRET
    return _Promise.SECRET_TEXT if words and words[-1] in SECRET_LABELS else _Promise.NOTHING


def _are_secret(words: tuple[str, ...]) -> bool:
    return (
        not SECRET_KEYS.isdisjoint(words)
        or "".join(words) in SECRET_KEYS
        or not SECRET_PAIRS.isdisjoint(itertools.pairwise(words))
        or any(word.endswith(_ENDINGS) or word.rstrip(_DIGITS).endswith(_NUMBERED_ENDINGS) for word in words)
    )


_remembered = lru_cache(4096)(_judged)
