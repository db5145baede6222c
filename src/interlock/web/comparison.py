"""`GET /approvals/{id}/difference`: how a call differs from the last one of its tool that was approved.

Whoever answers the same question every day looks for what is new in it. Both sides are the redacted copies: where a
secret was hidden nothing is compared, and the answer says so. Agents choose what is in them, so the answer is bounded.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fastapi import Response

from interlock.core.approvals import Approval
from interlock.core.canonical import argument_digest, canonical_text
from interlock.core.drift import Change, differences
from interlock.core.model import Json, JsonObject
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.approvals import found_approval
from interlock.web.parts import Here

MOST_CHANGES = 200
MAX_VALUE = 4_000
"""How many characters of one value are shown."""
ROOM = 64 * 1024
"""How many characters all values take together."""
_NO_TIME = 2**62


@dataclass(frozen=True, slots=True)
class Compared:
    """The approval, what it was compared with, and what differs.

    `against` is null when no other call of the tool was ever approved; then there are no changes. `same` is whether
    the arguments are the very same. Not `exact` when something on either side is hidden or was not kept: there nothing
    was compared. `cut` when there is more than is shown.
    """

    id: str
    against: "Against | None"
    same: bool
    exact: bool
    changes: list["ArgumentChange"]
    cut: bool


@dataclass(frozen=True, slots=True)
class Against:
    """The last approved call of the same tool, and by whom it was approved."""

    id: str
    requester: str
    approver: str | None
    decided_at: str | None


@dataclass(frozen=True, slots=True)
class ArgumentChange:
    """One place that differs. `path` is a JSON pointer; `change` is added, removed or changed; the side that does not
    exist is null."""

    path: str
    change: str
    before: Any
    after: Any


async def compare_approval(approval_id: str, here: Here) -> Response:
    """Show how the arguments of a call differ from those of the last approved call of the same tool."""
    approval = await found_approval(approval_id, here)
    key, until = approval.key, approval.decided_at or _NO_TIME
    other = await here.store.approvals.last_approved(key.server, key.tool, until, approval.id)
    if other is None:
        return json_answer(Compared(approval.id, None, False, True, [], False))
    before, after = _arguments(other), _arguments(approval)
    changes, cut = _bounded(differences(before, after))
    return json_answer(
        Compared(
            id=approval.id,
            against=Against(other.id, other.requester, other.approver, times.iso_or_none(other.decided_at)),
            same=other.key.digest == key.digest,
            exact=_is_whole(other) and _is_whole(approval),
            changes=changes,
            cut=cut,
        )
    )


def _arguments(approval: Approval) -> JsonObject:
    arguments = approval.asked.get("arguments")
    return arguments if isinstance(arguments, dict) else {}


def _is_whole(approval: Approval) -> bool:
    """Whether what was kept of the arguments is all that there was."""
    return argument_digest(_arguments(approval)) == approval.key.digest


def _bounded(found: Iterable[Change]) -> tuple[list[ArgumentChange], bool]:
    shown: list[ArgumentChange] = []
    cut, room = False, ROOM
    for each in found:
        (before, before_cut), (after, after_cut) = _shortened(each.before), _shortened(each.after)
        room -= len(each.path) + len(canonical_text([before, after]))
        if room < 0 or len(shown) == MOST_CHANGES:
            return shown, True
        cut = cut or before_cut or after_cut
        shown.append(ArgumentChange(each.path, each.kind, before, after))
    return shown, cut


def _shortened(value: Json) -> tuple[Json, bool]:
    """A value, or the beginning of its text if it is too long."""
    text = value if isinstance(value, str) else canonical_text(value)
    return (value, False) if len(text) <= MAX_VALUE else (f"{text[:MAX_VALUE]}…", True)
