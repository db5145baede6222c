"""Which roles may use which route. The sets are columns of the list of routes, so a route without one cannot exist."""

from interlock import errors
from interlock.errors import Reason
from interlock.receive.identify import Callers, Principal

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


async def may_still_read(callers: Callers, authorization: str | None) -> bool:
    """Whether a credential that was let in still is: a long answer may outlive it."""
    principal = await callers.admit(authorization)
    return not isinstance(principal, Reason) and refusal_of(principal, READERS) is None
