"""Every statement about approvals, grants and freezes that runs against SQLite, with its reason.

INVARIANT: an approval is answered, and a grant used, by one statement that finds it as it must be or changes nothing.
"""

from interlock.core.lifecycle import ApprovalState
from interlock.store.approvals import ApprovalFilter
from interlock.store.rows import Row, SqlValue, nearest_integer

# A new question, unless the very same call is asked about already.
_ADD = """
INSERT INTO approval (
    id, status, version, requester, approver, workspace, session_id, gateway, answered, created_at, decided_at,
    expires_at, waits_for, votes, body
)
"""
_UNLESS_ASKED = "ON CONFLICT (waits_for) WHERE status = 'pending' DO NOTHING"
ADD_APPROVAL = f"{_ADD} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) {_UNLESS_ASKED}"

# How many wait: of one caller, and in all. One look at those that wait, and none at what a caller ever asked.
CROWD = """
SELECT count(*) FILTER (WHERE requester = ?) AS own, count(*) AS total FROM approval WHERE status = 'pending'
"""

# The same, unless as many wait as may. It counts what all others have added: batches with a guard take turns.
ADD_APPROVAL_WITHIN = f"""{_ADD}
SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM ({CROWD}) AS crowd WHERE own < ? AND total < ?
{_UNLESS_ASKED}
"""  # noqa: S608 - of constants

_CHANGE = """
UPDATE approval SET status = ?, version = ?, approver = ?, decided_at = ?, votes = ?, body = ?
WHERE id = ? AND version = ? AND status = 'pending'
"""
_IN_TIME = f"{_CHANGE} AND expires_at > ?"
_TOO_LATE = f"{_CHANGE} AND expires_at <= ?"

# Compare and set, by what an approval becomes. Whoever gives up waiting need not be in time; the others must, or must
# not, by the clock of the store.
CHANGES: dict[ApprovalState, tuple[str, bool]] = {
    ApprovalState.PENDING: (_IN_TIME, True),
    ApprovalState.APPROVED: (_IN_TIME, True),
    ApprovalState.DENIED: (_IN_TIME, True),
    ApprovalState.TIMEOUT: (_TOO_LATE, True),
    ApprovalState.CANCELLED: (_CHANGE, False),
}

# The caller was told to come again. No version: it changes nothing that an answer depends on.
MARK_ANSWERED = "UPDATE approval SET answered = 1 WHERE id = ? AND status = 'pending'"

APPROVAL = """
SELECT id, status, version, approver, gateway, answered, created_at, decided_at, expires_at, votes, body FROM approval
"""

# One approval.
GET_APPROVAL = f"{APPROVAL} WHERE id = ?"

# Every approval, with what the list of activities tells of it; those of which it tells nothing are left out.
WITH_TOLD = """
SELECT approval.id, approval.status, version, approver, gateway, answered, created_at, decided_at, expires_at, votes,
    approval.body, waits_for, approval.requester, approval.workspace, approval.session_id, activity.body
FROM approval NOT INDEXED JOIN activity ON activity.id = approval.id
WHERE activity.type = 'approval' AND activity.approval_id = approval.id
"""

# The call of a tool that was approved last before some time, another one than this.
LAST_APPROVED = f"""{APPROVAL}
WHERE status = 'approved' AND body ->> '$.key.server' = ? AND body ->> '$.key.tool' = ? AND decided_at < ? AND id <> ?
ORDER BY decided_at DESC LIMIT 1
"""

_WHERES = {"status": "status = ?", "workspace": "workspace = ?", "session_id": "session_id = ?"}
_NOT_OF = "requester <> ?"

# How approvals of a while ended, and how long those that somebody answered had waited.
STRETCHES = """
SELECT created_at / ? AS stretch, status, count(*),
    sum(CASE WHEN status IN ('approved', 'denied') THEN decided_at - created_at ELSE 0 END)
FROM approval WHERE created_at >= ? GROUP BY stretch, status ORDER BY stretch, status
"""
WAITS = """
SELECT decided_at - created_at AS waited FROM approval
WHERE created_at >= ? AND status IN ('approved', 'denied') ORDER BY created_at DESC LIMIT ?
"""

# What an approval became.
ADD_GRANT = """
INSERT INTO granted (id, approval, caller, scope, created_at, expires_at, uses_left, uses, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

GRANT = """
SELECT id, approval, scope, created_at, expires_at, uses_left, uses, revoked_at, activity, body FROM granted
"""

# Those that can still be used.
LIVE_GRANTS = f"""{GRANT}
WHERE expires_at > ? AND revoked_at IS NULL AND (uses_left IS NULL OR uses_left > 0) ORDER BY created_at, id
"""

# The one of an approval.
GET_GRANT = f"{GRANT} WHERE approval = ?"

# One use, if there is one left. Who brings the approval again gets the outcome of the call that was asked about, and
# not that of another which the same grant let pass.
USE_GRANT = """
UPDATE granted SET uses_left = uses_left - 1, uses = uses + 1,
    activity = CASE WHEN body ->> '$.key.digest' = ? THEN ? ELSE activity END
WHERE id = ? AND revoked_at IS NULL AND (uses_left IS NULL OR uses_left > 0) AND expires_at > ?
"""

# Whether the one call that a grant was used for is known not to have left: then it was not used up.
_UNSENT = """uses_left = 0
    AND EXISTS (SELECT 1 FROM activity WHERE id = granted.activity AND activity.body ->> '$.result.sent' = 0)"""
IS_UNSENT = f"SELECT 1 FROM granted WHERE id = ? AND {_UNSENT}"  # noqa: S608 - of constants
REUSE_GRANT = f"""
UPDATE granted SET activity = ? WHERE id = ? AND revoked_at IS NULL AND {_UNSENT} AND expires_at > ?
"""  # noqa: S608 - of constants

# Only the first revocation of a grant that could still be used changes a row.
REVOKE_GRANT = f"""
UPDATE granted SET revoked_at = ?
WHERE id = ? AND revoked_at IS NULL AND (uses_left IS NULL OR uses_left > 0 OR {_UNSENT}) AND expires_at > ?
"""  # noqa: S608 - of constants

# What is stopped. The name of the table is a word of SQL in PostgreSQL.
FREEZES = 'SELECT kind, name, at, by, reason FROM "freeze" ORDER BY at, kind, name'
PUT_FREEZE = """
INSERT INTO "freeze" (kind, name, at, by, reason) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (kind, name) DO UPDATE SET at = excluded.at, by = excluded.by, reason = excluded.reason
"""
DROP_FREEZE = 'DELETE FROM "freeze" WHERE kind = ? AND name = ?'


def listing(wanted: ApprovalFilter, limit: int) -> tuple[str, Row]:
    """The statement and the parameters that list what is wanted, newest first."""
    where, values = _where(wanted)
    page = limit, nearest_integer(max(0, wanted.offset))
    return f"{APPROVAL} {where} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?", (*values, *page)


def counting(wanted: ApprovalFilter) -> tuple[str, Row]:
    """The statement and the parameters that count the same."""
    where, values = _where(wanted)
    return f"SELECT count(*) FROM approval {where}", tuple(values)  # noqa: S608 - put together from constants


def _where(wanted: ApprovalFilter) -> tuple[str, list[SqlValue]]:
    given = {"status": wanted.status, "workspace": wanted.workspace, "session_id": wanted.session_id}
    fragments = [_WHERES[name] for name, value in given.items() if value is not None]
    values: list[SqlValue] = [str(value) for value in given.values() if value is not None]
    if wanted.not_of is not None:
        fragments.append(_NOT_OF)
        values.append(wanted.not_of)
    return f"WHERE {' AND '.join(fragments)}" if fragments else "", values
