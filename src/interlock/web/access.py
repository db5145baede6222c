"""Which roles may use which route. The sets are columns of the list of routes, so a route without one cannot exist."""

from fastapi import Request

from interlock import errors
from interlock.errors import Reason
from interlock.receive.identify import Principal
from interlock.web.parts import browser_of, parts_of

VISITOR = "visitor"
"""The role of whoever brings nothing, on the one route that takes a code."""

VISITORS = frozenset({VISITOR})

READERS = frozenset({"admin", "auditor", "approver"})
"""Everyone but agents: what stands in the record is not for those it is about."""

ADMINS = frozenset({"admin"})

APPROVERS = frozenset({"approver"})
"""An admin is no approver: whoever may change the rules does not thereby answer for calls."""


STOPPERS = ADMINS | APPROVERS
"""Who may stop something, or take back what was given: that makes nothing looser."""


def refusal_of(principal: Principal, allowed: frozenset[str]) -> Reason | None:
    """Why a principal may not use a route; None when it may."""
    if principal.roles & allowed:
        return None
    return errors.FORBIDDEN(role=" or ".join(sorted(allowed)))


async def may_still_read(request: Request) -> bool:
    """Whether a credential that was let in still is: a long answer may outlive it."""
    here, browser = parts_of(request), browser_of(request)
    if browser is None:
        principal = await here.callers.admit(request.headers.get("authorization"))
    else:
        principal = here.browsers.still(browser)
    return not isinstance(principal, Reason) and refusal_of(principal, READERS) is None
