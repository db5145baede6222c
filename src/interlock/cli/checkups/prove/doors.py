"""Proofs about the doors: who is let in, by which name, and from which page."""

import re
from collections.abc import Iterator

from interlock.cli.checkups.prove.proof import Broken, NotApplicable, Proof
from interlock.cli.checkups.prove.sandbox import Sandbox
from interlock.cli.render import counted
from interlock.clock import SystemClock
from interlock.receive.edge import LOOPBACK

_SECOND = 1_000_000
_HOSTS = ("evil.test", "localhost.evil.test", "127.0.0.1.evil.test", "127.0.0.1:1")
_ORIGINS = ("null", "http://evil.test", "http://localhost:1")
_DOORS = (("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/"), ("GET", "/readyz"), ("GET", "/metrics"))


def _routes() -> Iterator[tuple[str, str]]:
    """Every route of REST that needs somebody, with something in each place of its path."""
    from interlock.web import PREFIX
    from interlock.web.access import VISITORS
    from interlock.web.routes import ROUTES

    for each in ROUTES:
        if each.roles != VISITORS:
            yield each.method, PREFIX + re.sub(r"\{[^}]*\}", "x", each.path)


async def revoked(box: Sandbox) -> str:
    agent, clock, target = await box.agent(), SystemClock(), box.targets[0]
    if (before := await agent.call(target)).code == "401":
        raise Broken(f"A token that was just made is refused with {before.code}.")
    begun, sent = clock.ticks(), box.sends()
    await box.api.delete("tokens", agent.id)
    saw = await agent.call(target)
    took = clock.ticks() - begun
    if saw.code != "401" or box.sends() != sent or took > _SECOND:
        raise Broken(f"A revoked token got {saw.code or 'what it asked for'}, {took // 1000} ms after it was revoked.")
    return f"The next call after it was revoked was refused, {took // 1000} ms later."


async def strangers(box: Sandbox) -> str:
    routes = list(_routes())
    for method, path in routes:
        if (status := await box.status(method, path)) != 401:
            raise Broken(f"{method} {path} without a token was answered with {status}.")
    agent = await box.agent()
    for method, path in routes:
        if (status := await box.status(method, path, authorization=f"Bearer {agent.token}")) != 403:
            raise Broken(f"{method} {path} with the token of an agent was answered with {status}.")
    return f"{counted(len(routes), 'route')}: 401 without a token, 403 with that of an agent."


async def names(box: Sandbox) -> str:
    host = box.config.settings.listen.host
    doors = [*_DOORS, *_routes()]
    if host not in LOOPBACK:
        for method, path in doors:
            if path != "/" and (status := await box.status(method, path)) not in (401, 405):
                raise Broken(f"{method} {path} was answered with {status} to nobody, although it listens on {host}.")
        raise NotApplicable(f"it listens on {host}, under any name; all but the dashboard's files asks for a token")
    for method, path in doors:
        for name in _HOSTS:
            if (status := await box.status(method, path, host=name)) != 421:
                raise Broken(f"{method} {path} under the name {name} was answered with {status}.")
        for origin in _ORIGINS:
            if (status := await box.status(method, path, origin=origin)) != 403:
                raise Broken(f"{method} {path} from a page of {origin} was answered with {status}.")
    return f"{counted(len(doors), 'door')} under {len(_HOSTS)} foreign names and from {len(_ORIGINS)} foreign pages."


PROOFS = (
    Proof("revoked-token", "A token of this gateway that was revoked is refused within a second.", revoked),
    Proof("strangers", "Beyond signing in, REST answers nobody without a token, and no agent.", strangers),
    Proof("foreign-pages", "A web page or a foreign name reaches nothing.", names),
)
