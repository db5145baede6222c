"""Browsers that are signed in: a one-time code becomes a cookie, and the cookie stands for the person who asked for it.

A browser sends its cookie with whatever a page makes it send, and to whatever else listens on this machine under
another port. So the cookie alone only reads. Whoever writes also brings the second secret, which is handed over once,
to the page that signed in, and is in no cookie. Neither is kept here, only their hashes; a restart signs everybody out.

This module refuses to know who may do what: a browser is never more than the token that its code was made with, and
ends with it.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from interlock import errors
from interlock.clock import Clock
from interlock.core.model import Micros
from interlock.errors import Reason
from interlock.receive.identify import Callers, Principal

CSRF_HEADER = "x-csrf-token"
CODE_SECONDS = 600
BROWSER_SECONDS = 12 * 3600
MOST_CODES = 8
MOST_BROWSERS = 32
"""How many of each one principal may have; its own oldest make room, never those of others."""
_MOST_COOKIES = 8
_SECOND = 1_000_000
_SAFE = frozenset({"GET", "HEAD"})
_OWN_PAGES = frozenset({None, "same-origin", "none"})
"""What a browser says of a request that one of our own pages made, or the person by hand; others say nothing."""


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser that is signed in. `id` is for the record and opens nothing."""

    id: str
    principal: Principal
    csrf_hash: str
    expires_at: Micros


@dataclass(frozen=True, slots=True)
class SignedIn:
    """What a browser is given when it signs in: the only time that the two secrets are seen."""

    browser: Browser
    cookie: str
    csrf: str


@dataclass(frozen=True, slots=True)
class _Code:
    principal: Principal
    expires_at: Micros


_Item = TypeVar("_Item", _Code, Browser)


class Browsers:
    """The codes that nobody has used yet, and the browsers that are signed in. Both are few for each principal."""

    def __init__(self, clock: Clock, callers: Callers, port: int) -> None:
        self.cookie_name = f"interlock_{port}"
        """Cookies do not know ports: two gateways on one machine would sign each other out."""
        self._clock = clock
        self._callers = callers
        self._codes: dict[str, _Code] = {}
        self._browsers: dict[str, Browser] = {}

    def code_for(self, principal: Principal) -> tuple[str, Micros]:
        """A code that signs a browser in once, as this principal, and until when."""
        code, until = secrets.token_urlsafe(32), self._in(CODE_SECONDS)
        self._drop_what_is_over()
        _put(self._codes, _hash(code), _Code(principal, until), MOST_CODES)
        return code, until

    def sign_in(self, code: str) -> SignedIn | None:
        """Use a code up. None when there is no such code, or no longer."""
        found = self._codes.pop(_hash(code), None)
        if found is None or found.expires_at <= self._clock.now():
            return None
        if isinstance(self._callers.again(found.principal.as_caller()), Reason):
            return None
        cookie, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        browser = Browser(secrets.token_hex(6), found.principal, _hash(csrf), self._in(BROWSER_SECONDS))
        _put(self._browsers, _hash(cookie), browser, MOST_BROWSERS)
        return SignedIn(browser, cookie, csrf)

    def sign_out(self, browser: Browser) -> None:
        """Know a browser no more."""
        self._browsers = {key: each for key, each in self._browsers.items() if each.id != browser.id}

    def identify(self, method: str, headers: Mapping[str, str]) -> "Found | Reason | None":
        """Who is behind the cookie of a request; None when it has none of ours, a reason when it may not be used."""
        cookies = _cookies(headers.get("cookie", ""), self.cookie_name)
        if not cookies:
            return None
        # Another server of this machine may have put one of the same name beside ours: then there are several.
        browser = next(filter(None, (self._browsers.get(_hash(each)) for each in cookies)), None)
        if browser is None:
            return errors.SIGNED_OUT()
        if headers.get("sec-fetch-site") not in _OWN_PAGES:
            return errors.NOT_OUR_PAGE()
        principal = self.still(browser)
        if isinstance(principal, Reason):
            return principal
        if method not in _SAFE and not hmac.compare_digest(browser.csrf_hash, _hash(headers.get(CSRF_HEADER, ""))):
            return errors.CSRF_NEEDED()
        return Found(principal, browser)

    def still(self, browser: Browser) -> Principal | Reason:
        """Who a browser is by now: nobody when it signed out, its time is over, or its token is no longer good."""
        signed_in = any(each is browser for each in self._browsers.values())
        if not signed_in or browser.expires_at <= self._clock.now():
            return errors.SIGNED_OUT()
        return self._callers.again(browser.principal.as_caller())

    def _drop_what_is_over(self) -> None:
        now = self._clock.now()
        self._codes = {key: each for key, each in self._codes.items() if each.expires_at > now}
        self._browsers = {key: each for key, each in self._browsers.items() if each.expires_at > now}

    def _in(self, seconds: int) -> Micros:
        return self._clock.now() + seconds * _SECOND


@dataclass(frozen=True, slots=True)
class Found:
    """A browser, and who it is now."""

    principal: Principal
    browser: Browser


def _put(kept: dict[str, _Item], key: str, item: _Item, most: int) -> None:
    """Keep one more; the oldest of the same principal makes room."""
    own = [each for each, other in kept.items() if other.principal.name == item.principal.name]
    for each in own[: max(0, len(own) + 1 - most)]:
        del kept[each]
    kept[key] = item


def _cookies(header: str, name: str) -> list[str]:
    """The values of the cookies of this name. Read by hand: what others put into the header must not hide ours."""
    pairs = (each.strip().partition("=") for each in header.split(";"))
    return [value for key, mark, value in pairs if mark and key == name][:_MOST_COOKIES]


def _hash(secret: str) -> str:
    # The secrets have 256 bits of their own; a slow hash would protect nothing more.
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
