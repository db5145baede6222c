"""`/session`: how a person's browser signs in to the dashboard, sees who it is, and signs out.

The code travels in the fragment of a link, which no server and no log ever sees, and from there in the body of one
request. Only persons sign in: an agent that may approve does so as an agent, and cannot look like someone at a screen.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Body, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from interlock import errors
from interlock.receive.identify import Principal
from interlock.record import signed
from interlock.web import PREFIX, times
from interlock.web.answers import json_answer
from interlock.web.browsers import BROWSER_SECONDS, Browser
from interlock.web.parts import Here, Parts, Who, browser_of
from interlock.web.problems import Refusal

LOGIN = "/login#"
"""Where a code signs in; it comes behind."""


@dataclass(frozen=True, slots=True)
class ShownSession:
    """Who asks, and the time here. `expires_at` is null for whoever brings a token."""

    name: str
    kind: str
    roles: list[str]
    expires_at: str | None
    now: str


@dataclass(frozen=True, slots=True)
class NewSession:
    """Who signed in, and what to send as `X-CSRF-Token` with everything that changes something. It is shown once."""

    name: str
    kind: str
    roles: list[str]
    expires_at: str
    csrf: str


@dataclass(frozen=True, slots=True)
class ShownLink:
    """Where to sign in, once and soon. `path` comes behind the address of the gateway."""

    path: str
    expires_at: str


@dataclass(frozen=True, slots=True)
class SignedOut:
    """The browser is not known any more."""

    signed_out: bool


class WantedSession(BaseModel):
    """The code of a link that `interlock open` made."""

    model_config = ConfigDict(extra="forbid", strict=True)

    code: str = Field(max_length=200)


async def sign_in(wanted: Annotated[WantedSession, Body()], here: Here) -> Response:
    """Exchange a one-time code for a cookie. A code works once and for ten minutes."""
    found = here.browsers.sign_in(wanted.code)
    if found is None:
        raise Refusal(errors.CODE_SPENT())
    who = found.browser.principal
    await here.store.write([signed("in", who.name, found.browser.id, here.clock.now())])
    answer = json_answer(NewSession(*_shown(who), times.iso(found.browser.expires_at), found.csrf))
    answer.set_cookie(
        here.browsers.cookie_name,
        found.cookie,
        max_age=BROWSER_SECONDS,
        path=PREFIX,
        httponly=True,
        samesite="strict",
    )
    return answer


async def get_session(here: Here, who: Who, request: Request) -> Response:
    """Say who asks, and what they may do."""
    browser = browser_of(request)
    until = None if browser is None else times.iso(browser.expires_at)
    return json_answer(ShownSession(*_shown(who), until, times.iso(here.clock.now())))


async def sign_out(here: Here, who: Who, request: Request) -> Response:
    """Forget the browser that asks. A token is not touched by it."""
    browser = browser_of(request)
    if browser is not None:
        await _forget(browser, here, who)
    answer = json_answer(SignedOut(browser is not None))
    answer.delete_cookie(here.browsers.cookie_name, path=PREFIX, httponly=True, samesite="strict")
    return answer


async def _forget(browser: Browser, here: Parts, who: Principal) -> None:
    here.browsers.sign_out(browser)
    await here.store.write([signed("out", who.name, browser.id, here.clock.now())])


async def make_link(here: Here, who: Who, request: Request) -> Response:
    """Make a link that signs a browser in as whoever asks, once. Only for persons, and only with a token."""
    if browser_of(request) is not None or not here.callers.is_person(who):
        raise Refusal(errors.PERSONS_SIGN_IN())
    return json_answer(link_for(here, who), 201)


def link_for(here: Parts, who: Principal) -> ShownLink:
    """A link that signs a browser in as this person, once."""
    code, until = here.browsers.code_for(who)
    return ShownLink(f"{LOGIN}{code}", times.iso(until))


def _shown(who: Principal) -> tuple[str, str, list[str]]:
    return who.name, who.kind, sorted(who.roles)
