"""Every statement about seals, and about the removal of what they name."""

# The entry with this number, or the last one before it.
PLACE = "SELECT seq, hash, at FROM entry WHERE chain = ? AND seq <= ? ORDER BY seq DESC LIMIT 1"

# The hashes of entries, by their numbers.
HASHES = "SELECT seq, hash FROM entry WHERE chain = ? AND seq IN (SELECT value FROM json_each(?))"

# One seal more; the triggers refuse one that has no place.
ADD_SEAL = "INSERT INTO seal (chain, kind, seq, at, text, key, signature) VALUES (?, ?, ?, ?, ?, ?, ?)"

# The newest seal of a kind, and all of them.
LAST_SEAL = "SELECT text, key, signature FROM seal WHERE chain = ? AND kind = ? ORDER BY seq DESC LIMIT 1"
NEWEST_SEALS = "SELECT text, key, signature FROM seal WHERE chain = ? ORDER BY seq DESC, kind LIMIT ?"

# The newest checkpoint on an entry before this one. One that was pruned before is no news.
CHECKPOINT_BEFORE = """
SELECT text, key, signature FROM seal WHERE chain = ?1 AND kind = 'checkpoint' AND seq < ?2
    AND seq > coalesce((SELECT max(seq) FROM seal WHERE chain = ?1 AND kind = 'pruned'), 0)
ORDER BY seq DESC LIMIT 1
"""

# The oldest entry that was written since then.
FIRST_SINCE = "SELECT min(seq) FROM entry WHERE chain = ? AND at >= ?"

# The oldest of the newest entries whose texts together have no more bytes than this.
FIRST_WITHIN = """
SELECT min(seq) FROM (
    SELECT seq, sum(length(CAST(text AS BLOB))) OVER (ORDER BY seq DESC) AS size FROM entry WHERE chain = ?
) WHERE size <= ?
"""

# The oldest entry of a call that is under way.
FIRST_OPEN = """
SELECT min(seq) FROM entry WHERE chain = ? AND subject IN (
    SELECT id FROM activity WHERE status IN (SELECT value FROM json_each(?)) AND +type = 'tool_call'
)
"""

# Activities of which the log tells nothing after an entry, and which are still listed.
ONLY_BEFORE = """
SELECT DISTINCT subject FROM entry WHERE chain = ? AND seq <= ?
    AND subject NOT IN (SELECT subject FROM entry WHERE chain = ? AND seq > ?)
    AND EXISTS (SELECT 1 FROM activity WHERE id = subject) LIMIT ?
"""

# Whether whoever asks may remove anything: in a file, whoever may write to it.
MAY_REMOVE = "SELECT 1"
REMOVE_ACTIVITY = "DELETE FROM activity WHERE id = ?"

# How many of the entries up to one are left, at most so many; and their removal.
LEFT = "SELECT count(*) FROM (SELECT 1 FROM entry WHERE chain = ? AND seq <= ? LIMIT ?)"
REMOVE_ENTRIES = """
DELETE FROM entry WHERE chain = ? AND seq IN (SELECT seq FROM entry WHERE chain = ? AND seq <= ? ORDER BY seq LIMIT ?)
"""
