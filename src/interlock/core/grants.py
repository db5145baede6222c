"""Grants: the one way in which an approval lets a call pass.

An approval never forwards anything. It writes a grant, bound to who asked, which definition of which tool, which
arguments and which rule; whoever brings that call next is decided again and consumes it. Everything that could have
changed in between is part of the key, so a stale grant simply does not fit.

INVARIANT: a grant can turn a hold into an allow and nothing else; no grant beats a deny.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from interlock.core.model import Micros
from interlock.core.safety import SafetyClass


class GrantScope(StrEnum):
    """How much an approver gave: this call once, this exact call for a time, or the tool for a time."""

    ONCE = "once"
    IDENTICAL = "identical"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class GrantKey:
    """What a grant is bound to, and what a call brings.

    The class, the workspace and the credentials are in it because a reviewer saw them: a tool that has become something
    else, a caller that has moved, or a call that would go out with other credentials, is another question, even where
    the same rule would ask it. The credentials need not come from the rule that asks: what the agent declares may
    choose among them.
    """

    caller: str
    server: str
    tool: str
    fingerprint: str
    digest: str
    rule_hash: str
    safety_class: str = ""
    workspace: str | None = None
    auth_scope: str | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """What an approval became. `given_by` are those whose word it is: it does not outlive their right to give it."""

    id: str
    key: GrantKey
    scope: GrantScope
    expires_at: Micros
    uses_left: int | None = None
    """None means any number of uses until it expires."""
    revoked: bool = False
    approval: str = ""
    given_by: tuple[str, ...] = ()
    created_at: Micros = 0
    uses: int = 0
    activity: str | None = None
    """The activity of the last call that used it, of those that were asked about: by a wider grant others pass too."""


_KEY_WORDS = {
    "caller": "the caller",
    "server": "the server",
    "tool": "the tool",
    "fingerprint": "the tool's definition",
    "digest": "the arguments",
    "rule_hash": "the rule",
    "safety_class": "the tool's class",
    "workspace": "the workspace",
    "auth_scope": "the credentials",
}


def changed(grant: Grant, key: GrantKey) -> tuple[str, ...]:
    """What of a grant's key no longer fits the call, in words for the operator."""
    given = grant.key
    pairs = {
        "caller": given.caller == key.caller,
        "server": given.server == key.server,
        "tool": given.tool == key.tool,
        "fingerprint": given.fingerprint == key.fingerprint,
        "digest": given.digest == key.digest or grant.scope is GrantScope.TOOL,
        "rule_hash": given.rule_hash == key.rule_hash,
        "safety_class": given.safety_class == key.safety_class,
        "workspace": given.workspace == key.workspace,
        "auth_scope": given.auth_scope == key.auth_scope,
    }
    return tuple(_KEY_WORDS[name] for name, fits in pairs.items() if not fits)


def covers(grant: Grant, key: GrantKey, safety_class: SafetyClass, now: Micros) -> bool:
    """Whether a grant lets this call pass now. A whole tool is never granted when it is dangerous or unknown."""
    if grant.revoked or now >= grant.expires_at or grant.uses_left == 0:
        return False
    if grant.scope is GrantScope.TOOL and safety_class.rank >= SafetyClass.DANGEROUS.rank:
        return False
    return not changed(grant, key)


def covering(grants: Iterable[Grant], key: GrantKey, safety_class: SafetyClass, now: Micros) -> Grant | None:
    """The grant to consume: standing ones before one-use ones, then the one that ends first, then by id."""
    fitting = [grant for grant in grants if covers(grant, key, safety_class, now)]
    return min(fitting, key=lambda each: (each.uses_left is not None, each.expires_at, each.id), default=None)
