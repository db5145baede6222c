"""Whether what is kept beside the log is what the log tells of it, in whichever database: by values, without one.

This module refuses to say which of the two is the right one.
"""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from interlock.core.approvals import shown
from interlock.core.canonical import canonical_text
from interlock.core.redact import HIDDEN
from interlock.store.approval_rows import approval_of, derived
from interlock.store.protocol import StoreUnavailable
from interlock.store.rows import json_text, row_text


def agrees(*row: Any) -> bool:
    """Whether an approval is what its activity tells. What was hidden there, because it looked like a secret, is not
    compared."""
    *kept, waits_for, requester, workspace, session, told = row
    try:
        approval = approval_of(kept)
        as_written = (waits_for, *kept[-2:]) == derived(approval)
        plain: dict[str, Any] = json.loads(json_text(shown(approval)))
        said: dict[str, Any] = json.loads(told)
        found = plain["requester"], plain["workspace_id"], plain.get("request_session_id")
        differing = [each for each, value in plain.items() if said.get(each) != value]
    except (StoreUnavailable, ValueError, TypeError, AttributeError):
        return False
    as_found_by = (requester, workspace, session) == found
    return as_written and as_found_by and all(HIDDEN in canonical_text(said.get(each)) for each in differing)


def told_of(row: Sequence[Any]) -> bytes | None:
    """The text of an entry that tells of a row of the list; None when it is no such row."""
    try:
        return row_text(tuple(row)).encode()
    except (ValueError, TypeError, msgspec.MsgspecError):
        return None
