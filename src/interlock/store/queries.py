"""Every statement that runs against SQLite, with its name and its reason.

Listing and counting activities are the only ones that are put together, and only from the fragments below: a filter
chooses among them, and its values travel as parameters. No text of a user ever becomes SQL.
"""

from itertools import chain

from interlock.core.canonical import canonical_text
from interlock.core.model import Micros
from interlock.store.protocol import ActivityFilter, ActivityType
from interlock.store.rows import Row, SqlValue, nearest_integer, place_of

# Takes the write lock at once: a transaction that reads first and writes later can fail half-way.
BEGIN = "BEGIN IMMEDIATE"
COMMIT = "COMMIT"

# Makes the chain of a new database; does nothing in one that has a log, though its row may be gone.
START_CHAIN = """
INSERT INTO chain (id, started_at) SELECT ?, ?
WHERE NOT EXISTS (SELECT 1 FROM chain) AND NOT EXISTS (SELECT 1 FROM entry) AND NOT EXISTS (SELECT 1 FROM seal)
"""

# The chain that this database continues, one row; whether entries belong to another; and a chain that something in it
# belongs to.
CHAIN = "SELECT id FROM chain"
OTHER_CHAIN = "SELECT EXISTS (SELECT 1 FROM entry WHERE chain < ?) OR EXISTS (SELECT 1 FROM entry WHERE chain > ?)"
CHAINS_WITH_ENTRIES = "SELECT DISTINCT chain FROM entry"
FOUND_CHAIN = "SELECT chain FROM entry UNION ALL SELECT chain FROM seal LIMIT 1"

# Where the chain stands. Asked within each transaction, so that another process may write to it too.
TIP = "SELECT seq, hash FROM entry WHERE chain = ? ORDER BY seq DESC LIMIT 1"

SHEAF = 16
"""How many rows one statement takes at once. After each statement the writer has to ask for its turn to run Python
again, and under load that costs more than the row."""


class Insert:
    """A statement that puts rows into a table, for one row and for a sheaf of them."""

    def __init__(self, into: str, columns: int, otherwise: str = "") -> None:
        row = f"({', '.join('?' * columns)})"
        self.one = f"INSERT INTO {into} VALUES {row} {otherwise}"  # noqa: S608 - of constants
        self.sheaf = f"INSERT INTO {into} VALUES {', '.join([row] * SHEAF)} {otherwise}"  # noqa: S608 - of constants


# One link more.
APPEND = Insert("entry (chain, seq, at, kind, subject, text, prev, hash)", 8)

# The latest version of an activity takes the place of the one before it.
PUT_ACTIVITY = Insert(
    """activity (
    id, at, type, status, body, server, tool, caller, session_id, workspace, intent_type, safety_class, verdict,
    rule_id, approval_id
)""",
    15,
    """
ON CONFLICT (id) DO UPDATE SET
    at = excluded.at, type = excluded.type, status = excluded.status, body = excluded.body, server = excluded.server,
    tool = excluded.tool, caller = excluded.caller, session_id = excluded.session_id, workspace = excluded.workspace,
    intent_type = excluded.intent_type, safety_class = excluded.safety_class, verdict = excluded.verdict,
    rule_id = excluded.rule_id, approval_id = excluded.approval_id
""",
)

# The columns of an activity, in the order of its fields.
ACTIVITY = """
SELECT id, at, type, status, body, server, tool, caller, session_id, workspace, intent_type, safety_class, verdict,
    rule_id, approval_id
FROM activity
"""

# One activity.
GET_ACTIVITY = f"{ACTIVITY} WHERE id = ?"

# Calls in one of the given states, oldest first. The plus keeps the planner on the index of the status: few calls are
# in such a state, and most activities are calls.
OPEN_CALLS = f"""{ACTIVITY}
WHERE status IN (SELECT value FROM json_each(?)) AND +type = 'tool_call' ORDER BY at, id
"""  # noqa: S608 - put together from constants

# Entries of a chain after a sequence number.
ENTRIES = """
SELECT chain, seq, at, kind, subject, text, prev, hash FROM entry WHERE chain = ? AND seq > ? ORDER BY seq LIMIT ?
"""

# The same for the check, which reads them all, one after the other.
STORED = """
SELECT seq, at, kind, subject, text, prev, hash FROM entry WHERE chain = ? AND seq > ? AND seq <= ? ORDER BY seq
"""

# Entries that stand in no place of the chain.
STRANGERS = """
SELECT (SELECT count(*) FROM entry WHERE chain < ?) + (SELECT count(*) FROM entry WHERE chain > ?)
    + (SELECT count(*) FROM entry WHERE chain = ? AND seq < 1) + (SELECT count(*) FROM seal WHERE chain <> ?)
"""

# The row of the list as the log tells of it: its columns in the order of their names. Only nearly so, because each of
# the two writes odd characters in its own way; what differs is looked at again. All columns after the body go through
# one function, because a call of a function costs as much as what it does.
_AFTER_BODY = (
    "caller",
    "id",
    "intent_type",
    "rule_id",
    "safety_class",
    "server",
    "session_id",
    "status",
    "tool",
    "type",
    "verdict",
    "workspace",
)
_ROW_TEXT = """'{{"approval_id":' || json_quote(activity.approval_id) || ',"at":' || activity.at
    || ',"body":' || activity.body || ',' || substr(json_object({}), 2)""".format(
    ", ".join(f"'{name}', activity.{name}" for name in _AFTER_BODY)
)
_COLUMNS = ("approval_id", "at", "body", *_AFTER_BODY)

# What the log says last of each activity, where the list seems to say something else or nothing. At the end, with no
# subject, of how many activities the log tells. Both tables are read by their rowids: the way through an index is a
# second search for each row. That the index of the log agrees with its table is checked by itself. SQLite promises that
# a plain column beside max() is that of the row with the maximum.
DISAGREEING = f"""
WITH latest AS MATERIALIZED (
    SELECT max(seq) AS seq, rowid AS place FROM entry NOT INDEXED WHERE chain = ? GROUP BY subject
)
SELECT entry.seq, entry.subject, entry.text, activity.*
FROM latest JOIN entry ON entry.rowid = latest.place
LEFT JOIN activity ON activity.rowid = (SELECT listed.rowid FROM activity AS listed WHERE listed.id = entry.subject)
WHERE activity.id IS NULL OR entry.text IS NOT {_ROW_TEXT}
UNION ALL
SELECT count(*), NULL, NULL, {", ".join(["NULL"] * len(_COLUMNS))} FROM latest
"""  # noqa: S608 - put together from constants
LISTED = "SELECT count(*) FROM activity NOT INDEXED"

# Some of the activities of which the log tells nothing; and the last entry that tells of one.
UNTOLD = "SELECT id FROM activity WHERE id NOT IN (SELECT subject FROM entry WHERE chain = ?) ORDER BY id LIMIT ?"
LAST_TOLD = "SELECT max(seq) FROM entry WHERE chain = ? AND subject = ?"

# Approvals that are on record and not kept. The activity of an approval has its id.
APPROVALS_LOST = """
SELECT id FROM activity NOT INDEXED
WHERE type = 'approval' AND id = approval_id AND id NOT IN (SELECT id FROM approval NOT INDEXED)
"""
# Approvals of which the list of activities tells nothing. Where old entries were removed, or are about to be, those
# that are older than what stays may have lost theirs.
APPROVALS_UNTOLD = """
SELECT id FROM approval NOT INDEXED WHERE id NOT IN (SELECT id FROM activity NOT INDEXED WHERE type = 'approval')
    AND (? = 0 OR created_at > (SELECT at FROM entry WHERE chain = ? AND seq > ? ORDER BY seq LIMIT 1))
"""

# Everything that was put into the database, as it was written; a name says nothing, because anybody can give one. Left
# out are the indexes that SQLite makes for itself, which have no words of their own, and the tables in which it keeps
# what it counted.
SCHEMA = """
SELECT type, name, tbl_name, sql FROM sqlite_master
WHERE (type <> 'index' OR sql IS NOT NULL) AND (type <> 'table' OR name NOT IN ('sqlite_stat1', 'sqlite_stat4'))
"""

# Whether the file is whole where the proof stands and in what is shown, with the indexes: what is found by one is not
# read in the table, and what one leaves out is not found.
WHOLE = tuple(f"PRAGMA integrity_check({each})" for each in ("entry", "seal", "chain", "activity", "approval"))

# All seals of a chain, in order.
SEALS = "SELECT kind, seq, at, text, key, signature FROM seal WHERE chain = ? ORDER BY seq, kind"

# Where the log of a chain ends.
LOG_END = "SELECT coalesce(max(seq), 0) FROM entry WHERE chain = ?"

# A new token, unless there is one with its id.
ADD_TOKEN = """
INSERT INTO token (id, principal, kind, roles, secret_hash, created_at, expires_at, revoked_at, scope)
SELECT ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM token WHERE principal = ? AND kind <> ?)
ON CONFLICT (id) DO NOTHING
"""  # noqa: S105 - no secret

# All tokens, oldest first.
TOKENS = """
SELECT id, principal, kind, roles, secret_hash, created_at, expires_at, revoked_at, scope
FROM token ORDER BY created_at, id
"""

# Compare and set: only the first revocation changes a row.
REVOKE_TOKEN = "UPDATE token SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"  # noqa: S105 - no secret

# The first listing of a server: only the first one changes a row.
BEGIN_BASELINE = "INSERT INTO baseline (server, since) VALUES (?, ?) ON CONFLICT (server) DO NOTHING"

# All baselines; a server whose baseline is empty comes once, without a tool.
BASELINES = """
SELECT baseline.server, reviewed.tool, reviewed.definition, reviewed.told
FROM baseline LEFT JOIN reviewed ON reviewed.server = baseline.server ORDER BY baseline.server, reviewed.tool
"""

# What is remembered of a tool takes the place of what was remembered before.
PUT_REVIEWED = """
INSERT INTO reviewed (server, tool, definition, told) VALUES (?, ?, ?, ?)
ON CONFLICT (server, tool) DO UPDATE SET definition = excluded.definition, told = excluded.told
"""

# A tool that nobody reviewed and that is gone.
DROP_REVIEWED = "DELETE FROM reviewed WHERE server = ? AND tool = ?"

# The operator's classes.
OVERRIDES = "SELECT server, tool, safety_class FROM override ORDER BY server, tool"
PUT_OVERRIDE = """
INSERT INTO override (server, tool, safety_class) VALUES (?, ?, ?)
ON CONFLICT (server, tool) DO UPDATE SET safety_class = excluded.safety_class
"""
DROP_OVERRIDE = "DELETE FROM override WHERE server = ? AND tool = ?"

# What is kept of servers. A row that is written again keeps its place.
KEPT_SERVERS = "SELECT id, enabled, definition FROM server ORDER BY rowid"
PUT_SERVER = """
INSERT INTO server (id, enabled, definition) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET enabled = excluded.enabled, definition = excluded.definition
"""
# A switch of one that stood in a file once is no server.
ADD_SERVER = f"{PUT_SERVER}WHERE server.definition IS NULL"
DROP_SERVER = "DELETE FROM server WHERE id = ?"

_CALLS = "type IN ('tool_call', 'policy_decision')"


def _names(column: str) -> str:
    """The values of a column, each found by one step in its index: to look at every row would take seconds."""
    return f"""
WITH RECURSIVE names (name) AS (
    SELECT min({column}) FROM activity WHERE {column} IS NOT NULL
    UNION ALL
    SELECT (SELECT min({column}) FROM activity WHERE {column} > name) FROM names WHERE name IS NOT NULL
    LIMIT ?
)
"""  # noqa: S608 - of constants


# How many calls each rule decided since then, and when it last did. Approvals have a rule too and are no calls.
CALLS_BY_RULE = f"""{_names("rule_id")}
SELECT name,
    (SELECT count(*) FROM activity WHERE rule_id = name AND {_CALLS} AND at >= ?),
    nullif(max(
        coalesce((SELECT max(at) FROM activity WHERE rule_id = name AND type = 'tool_call'), 0),
        coalesce((SELECT max(at) FROM activity WHERE rule_id = name AND type = 'policy_decision'), 0)
    ), 0)
FROM names WHERE name IS NOT NULL
"""  # noqa: S608 - of constants

# How much each caller did since then, and when it last did anything.
DONE_BY_CALLER = f"""{_names("caller")}
SELECT name,
    (SELECT count(*) FROM activity WHERE caller = name AND at >= ?),
    (SELECT max(at) FROM activity WHERE caller = name)
FROM names WHERE name IS NOT NULL
"""  # noqa: S608 - of constants

# What of that was no call: little, so that it is cheaper to take it away than to look at the type of everything.
OTHERWISE_DONE = """
SELECT caller, count(*) FROM activity
WHERE type IN ('approval', 'tool_change', 'server_change', 'config_change', 'token_change', 'system')
    AND at >= ? AND caller IS NOT NULL
GROUP BY caller
"""

# When a server listed its tools for the first time.
BASELINE_SINCE = "SELECT since FROM baseline WHERE server = ?"

# What is counted of an activity: nothing that is not in the index of the type, because a body can be long.
_COUNTED = "SELECT at, status, safety_class, server, verdict FROM activity"

_SELECTIVE = ("session_id", "tool", "caller", "server", "status", "verdict", "intent_type", "safety_class", "type")
"""The columns that can be filtered by, those that leave the fewest rows first."""

_COMMON = frozenset({ActivityType.TOOL_CALL, ActivityType.POLICY_DECISION, ActivityType.APPROVAL})
_RARE_TYPE = ("session_id", "type", *(column for column in _SELECTIVE if column not in ("session_id", "type")))
"""The same where only types are wanted that there are few of: a tool is called often, and changes hardly ever."""

# The first of them that is given leads through its index. The plus tells the planner only to check the others, so that
# a list always comes out of one index in its final order.
_LEADS = {column: f"{column} = ?" for column in _SELECTIVE}
_CHECKS = {column: f"+{column} IN (SELECT value FROM json_each(?))" for column in _SELECTIVE}  # noqa: S608 - constants
_SINCE = "at >= ?"
_UNTIL = "at < ?"
_BEFORE = "(at, id) < (?, ?)"
_NEWEST_FIRST = "ORDER BY at DESC, id DESC LIMIT ?"
_NEWEST = "ORDER BY at DESC LIMIT ?"


def counting(wanted: ActivityFilter, width: Micros, limit: int) -> tuple[str, Row]:
    """The statement and the parameters that count what is wanted, the newest first and at most so many."""
    listed, values = _merged(wanted, limit, _COUNTED, _NEWEST)
    sql = f"""
    SELECT at / ? AS stretch, status, safety_class, server, verdict, count(*) FROM ({listed})
    GROUP BY stretch, status, safety_class, server, verdict ORDER BY stretch
    """  # noqa: S608 - put together from constants
    return sql, (width, *values)


def listing(wanted: ActivityFilter, limit: int) -> tuple[str, Row]:
    """The statement and the parameters that list what is wanted. Raises ValueError when the cursor is not ours."""
    return _merged(wanted, limit, ACTIVITY, _NEWEST_FIRST)


def _merged(wanted: ActivityFilter, limit: int, select: str, order: str) -> tuple[str, Row]:
    (lead, leaders), *others = given(wanted) or [("", ())]
    limits, bound_values = bounds(wanted)
    wheres = [_CHECKS[column] for column, _ in others] + limits
    values: list[SqlValue] = [canonical_text(each) for _, each in others] + bound_values
    if not leaders:
        return f"{_select(select, wheres)} {order}", (*values, limit)
    # One select for each value of the leading filter: each comes out of the index in order, and SQLite merges them as
    # they come. An IN would read and sort everything that matches before it gave the first row.
    merged = " UNION ALL ".join([_select(select, [_LEADS[lead], *wheres])] * len(leaders))
    return f"{merged} {order}", (*chain.from_iterable((leader, *values) for leader in leaders), limit)


def _select(select: str, wheres: list[str]) -> str:
    return f"{select} WHERE {' AND '.join(wheres)}" if wheres else select


def given(wanted: ActivityFilter) -> list[tuple[str, tuple[str, ...]]]:
    """The columns that are filtered by, most selective first, each with the values it may have."""
    allowed: dict[str, tuple[str | None, ...]] = {
        "session_id": (wanted.session_id,),
        "tool": (wanted.tool,),
        "caller": (wanted.caller,),
        "server": (wanted.server,),
        "status": wanted.statuses,
        "verdict": (wanted.verdict,),
        "intent_type": (wanted.intent_type,),
        "safety_class": (wanted.safety_class,),
        "type": wanted.types,
    }
    columns = _RARE_TYPE if wanted.types and not _COMMON & set(wanted.types) else _SELECTIVE
    plain = {column: dict.fromkeys(str(each) for each in allowed[column] if each is not None) for column in columns}
    return [(column, tuple(values)) for column, values in plain.items() if values]


def bounds(wanted: ActivityFilter) -> tuple[list[str], list[SqlValue]]:
    """Where the list begins and ends. Of a cursor and `until` only the nearer one counts, so that one seek finds it."""
    fragments: list[str] = []
    values: list[SqlValue] = []
    if wanted.since is not None:
        fragments.append(_SINCE)
        values.append(nearest_integer(wanted.since))
    until = None if wanted.until is None else nearest_integer(wanted.until)
    place = None if wanted.cursor is None else place_of(wanted.cursor)
    if place is not None and (until is None or place < (until, "")):
        fragments.append(_BEFORE)
        values += place
    elif until is not None:
        fragments.append(_UNTIL)
        values.append(until)
    return fragments, values
