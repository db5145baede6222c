"""Our statements as PostgreSQL wants them, and our values as it can hold them.

Most statements are understood by both databases but for the marks of their parameters. Those that are not stand here in
the words of PostgreSQL, each beside the one whose place it takes, with the same parameters in the same order.

A null character is the one thing that a text of ours may have in it and a text of PostgreSQL may not: it is written in
another way and read back as it was. JSON has none, so that what is hashed of an entry is what is stored.

This module refuses to know a connection.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Any

from interlock.core.model import Micros
from interlock.store import approval_queries, queries, seal_queries
from interlock.store.protocol import ActivityFilter
from interlock.store.rows import Row, SqlValue

NOW = "now_micros()"
_UNSENT = """uses_left = 0
    AND EXISTS (
        SELECT 1 FROM activity WHERE id = granted.activity AND readable(activity.body) #>> '{result,sent}' = 'false'
    )"""
"""The time of the database."""

_MARK = re.compile(r"\?(\d*)")
_SIGN = "\x1a"
_NULL, _SIGN_ITSELF = f"{_SIGN}0", f"{_SIGN}1"

# What only PostgreSQL is asked for ------------------------------------------------------------------------------

# The chain of a gateway, which its first start makes.
START_CHAIN = "INSERT INTO chain (id, started_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING"

# Calls of this gateway alone: those of another one are under way, and no crash left them.
OPEN_CALLS = """
SELECT id, at, type, status, body, server, tool, caller, session_id, workspace, intent_type, safety_class, verdict,
    rule_id, approval_id
FROM activity WHERE status IN (SELECT jsonb_array_elements_text($1::jsonb)) AND type = 'tool_call' AND chain = $2
ORDER BY at, id
"""

# Links of one chain, as many as there are, in one statement.
APPEND = """
INSERT INTO entry (chain, seq, at, kind, subject, text, prev, hash)
SELECT * FROM unnest(
    $1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::bytea[]
)
"""

# The latest versions of activities, each at most once, in the order of their ids: two gateways that both write to some
# of the same rows wait for each other and not for themselves.
PUT_ACTIVITIES = """
INSERT INTO activity (
    id, at, type, status, body, server, tool, caller, session_id, workspace, intent_type, safety_class, verdict,
    rule_id, approval_id, chain
)
SELECT *, $16 FROM unnest(
    $1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[]
)
ON CONFLICT (id) DO UPDATE SET
    at = excluded.at, type = excluded.type, status = excluded.status, body = excluded.body, server = excluded.server,
    tool = excluded.tool, caller = excluded.caller, session_id = excluded.session_id, workspace = excluded.workspace,
    intent_type = excluded.intent_type, safety_class = excluded.safety_class, verdict = excluded.verdict,
    rule_id = excluded.rule_id, approval_id = excluded.approval_id, chain = excluded.chain
"""

# Whether an entry is there, by its hash, which no other has.
IS_WRITTEN = "SELECT EXISTS (SELECT 1 FROM entry WHERE chain = $1 AND seq = $2 AND hash = $3)"

# Waits for its turn among all who want the same one; the turn ends with the transaction.
TAKE_TURN = "SELECT pg_advisory_xact_lock($1)"

# Tells all gateways, when the transaction has ended, that there is something new.
TELL = "SELECT pg_notify('interlock', '')"

# What is said otherwise ------------------------------------------------------------------------------------------


def _names(column: str) -> str:
    """The values of a column, each found by one step in its index. How many are wanted is said at the end, because
    PostgreSQL looks for no more of them than are taken."""
    return f"""
WITH RECURSIVE names (name) AS (
    SELECT min({column}) FROM activity WHERE {column} IS NOT NULL
    UNION ALL
    SELECT (SELECT min({column}) FROM activity WHERE {column} > name) FROM names WHERE name IS NOT NULL
)
"""  # noqa: S608 - of constants


_CALLS = "type IN ('tool_call', 'policy_decision')"
_APPROVAL = """
SELECT id, status, version, approver, gateway, answered, created_at, decided_at, expires_at, votes, body FROM approval
"""

_OTHERWISE = {
    queries.KEPT_SERVERS: "SELECT id, enabled, definition FROM server ORDER BY place",
    queries.CALLS_BY_RULE: f"""{_names("rule_id")}
SELECT name,
    (SELECT count(*) FROM activity WHERE rule_id = name AND {_CALLS} AND at >= $2),
    (SELECT max(at) FROM activity WHERE rule_id = name AND {_CALLS})
FROM names WHERE name IS NOT NULL LIMIT $1
""",  # noqa: S608 - of constants
    queries.DONE_BY_CALLER: f"""{_names("caller")}
SELECT name,
    (SELECT count(*) FROM activity WHERE caller = name AND at >= $2),
    (SELECT max(at) FROM activity WHERE caller = name)
FROM names WHERE name IS NOT NULL LIMIT $1
""",  # noqa: S608 - of constants
    approval_queries.LAST_APPROVED: f"""{_APPROVAL}
WHERE status = 'approved' AND readable(body) #>> '{{key,server}}' = $1 AND readable(body) #>> '{{key,tool}}' = $2
    AND decided_at < $3 AND id <> $4
ORDER BY decided_at DESC LIMIT 1
""",
    # A sum is of a type without bounds, unless it is told otherwise.
    approval_queries.STRETCHES: """
SELECT created_at / $1 AS stretch, status, count(*),
    sum(CASE WHEN status IN ('approved', 'denied') THEN decided_at - created_at ELSE 0 END)::bigint
FROM approval WHERE created_at >= $2 GROUP BY stretch, status ORDER BY stretch, status
""",
    approval_queries.USE_GRANT: f"""
UPDATE granted SET uses_left = uses_left - 1, uses = uses + 1,
    activity = CASE WHEN readable(body) #>> '{{key,digest}}' = $1 THEN $2 ELSE activity END
WHERE id = $3 AND revoked_at IS NULL AND (uses_left IS NULL OR uses_left > 0) AND expires_at > {NOW}
""",  # noqa: S608 - of constants
    approval_queries.IS_UNSENT: f"SELECT 1 FROM granted WHERE id = $1 AND {_UNSENT}",  # noqa: S608
    approval_queries.REUSE_GRANT: f"""
UPDATE granted SET activity = $1 WHERE id = $2 AND revoked_at IS NULL AND {_UNSENT} AND expires_at > {NOW}
""",  # noqa: S608 - of constants
    approval_queries.REVOKE_GRANT: f"""
UPDATE granted SET revoked_at = $1
WHERE id = $2 AND revoked_at IS NULL AND (uses_left IS NULL OR uses_left > 0 OR {_UNSENT}) AND expires_at > {NOW}
""",  # noqa: S608 - of constants
    seal_queries.HASHES: """
SELECT seq, hash FROM entry
WHERE chain = $1 AND seq IN (SELECT jsonb_array_elements_text($2::jsonb)::bigint)
""",
    seal_queries.FIRST_WITHIN: """
SELECT min(seq) FROM (
    SELECT seq, sum(octet_length(text)) OVER (ORDER BY seq DESC) AS size FROM entry WHERE chain = $1
) AS sized WHERE size <= $2
""",
    seal_queries.FIRST_OPEN: """
SELECT min(seq) FROM entry WHERE chain = $1 AND subject IN (
    SELECT id FROM activity
    WHERE status IN (SELECT jsonb_array_elements_text($2::jsonb)) AND type = 'tool_call' AND chain = $1
)
""",
    # What another gateway told of last leaves the list with that one's log.
    seal_queries.ONLY_BEFORE: """
SELECT DISTINCT subject FROM entry WHERE chain = $1 AND seq <= $2
    AND subject NOT IN (SELECT subject FROM entry WHERE chain = $3 AND seq > $4)
    AND EXISTS (SELECT 1 FROM activity WHERE id = subject AND activity.chain = $1) LIMIT $5
""",
    seal_queries.MAY_REMOVE: """
SELECT has_table_privilege('entry', 'DELETE') AND has_table_privilege('activity', 'DELETE')
""",
    seal_queries.LEFT: """
SELECT count(*) FROM (SELECT 1 FROM entry WHERE chain = $1 AND seq <= $2 LIMIT $3) AS found
""",
}


@lru_cache(4096)
def in_postgres(sql: str, *, timed: bool = False) -> str:
    """One of our statements as PostgreSQL wants it. In one that is timed, the last parameter is the time of the
    database, and nobody hands it over."""
    if sql in _OTHERWISE:
        return _OTHERWISE[sql]
    if timed:
        before, _, after = sql.rpartition("?")
        sql = f"{before}{NOW}{after}"
    return numbered(sql)


def numbered(sql: str) -> str:
    """A statement with numbers for the marks of its parameters."""
    numbers = count(1)
    return _MARK.sub(lambda mark: f"${mark[1] or next(numbers)}", sql)


# Lists of activities --------------------------------------------------------------------------------------------


def listing(wanted: ActivityFilter, limit: int) -> tuple[str, Row]:
    """The statement and the parameters that list what is wanted. Raises ValueError when the cursor is not ours."""
    where, values = _where(wanted)
    return f"{queries.ACTIVITY} {where} ORDER BY at DESC, id DESC LIMIT ?", (*values, limit)


def counting(wanted: ActivityFilter, width: Micros, limit: int) -> tuple[str, Row]:
    """The statement and the parameters that count what is wanted, the newest first and at most so many."""
    where, values = _where(wanted)
    sql = f"""
SELECT at / ? AS stretch, status, safety_class, server, verdict, count(*)
FROM (SELECT at, status, safety_class, server, verdict FROM activity {where} ORDER BY at DESC LIMIT ?) AS listed
GROUP BY stretch, status, safety_class, server, verdict ORDER BY stretch
"""  # noqa: S608 - put together from constants
    return sql, (width, *values, limit)


def _where(wanted: ActivityFilter) -> tuple[str, list[SqlValue]]:
    """A choice among the values of a column is one comparison for each: the planner finds the index by itself."""
    fragments, values = queries.bounds(wanted)
    given = queries.given(wanted)
    choices = [f"({' OR '.join([f'{column} = ?'] * len(allowed))})" for column, allowed in given]
    chosen: list[SqlValue] = [value for _, allowed in given for value in allowed]
    return (f"WHERE {' AND '.join([*choices, *fragments])}" if given or fragments else ""), [*chosen, *values]


# Values ---------------------------------------------------------------------------------------------------------


def held(value: Any) -> Any:
    """A value as PostgreSQL can hold it."""
    if isinstance(value, str) and ("\0" in value or _SIGN in value):
        return value.replace(_SIGN, _SIGN_ITSELF).replace("\0", _NULL)
    return value


def plain(row: Sequence[Any]) -> tuple[Any, ...]:
    """A row as it was before it was held."""
    return tuple(
        each.replace(_NULL, "\0").replace(_SIGN_ITSELF, _SIGN) if isinstance(each, str) and _SIGN in each else each
        for each in row
    )
