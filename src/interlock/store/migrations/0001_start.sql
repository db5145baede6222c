-- The log, the activities, the tokens. Types are strict: what is hashed must come back as it was written.

-- 'Intl': says whose database this is, so that a wrong path is refused instead of migrated.
PRAGMA application_id = 1231975532;

-- The id of this database's chain, made once; a restart continues the chain.
CREATE TABLE chain (
    id TEXT PRIMARY KEY NOT NULL,
    started_at INTEGER NOT NULL
) STRICT;

-- The sealed log. A second successor of an entry would be a fork: the trigger below lets none in.
CREATE TABLE entry (
    chain TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    text TEXT NOT NULL,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (chain, seq)
) STRICT;

-- The log only grows. INSERT needs a guard of its own, because INSERT OR REPLACE deletes without asking a trigger.
CREATE TRIGGER entry_follows BEFORE INSERT ON entry
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM entry WHERE chain = NEW.chain)
    OR NEW.prev IS NOT coalesce((SELECT hash FROM entry WHERE chain = NEW.chain AND seq = NEW.seq - 1), zeroblob(32))
BEGIN
    SELECT RAISE(ABORT, 'the log only grows: an entry must follow the last one');
END;

CREATE TRIGGER entry_stays BEFORE UPDATE ON entry
BEGIN
    SELECT RAISE(ABORT, 'the log only grows: an entry is never changed');
END;

CREATE TRIGGER entry_remains BEFORE DELETE ON entry
BEGIN
    SELECT RAISE(ABORT, 'the log only grows: an entry is never deleted');
END;

-- The latest version of each activity, for listing.
CREATE TABLE activity (
    id TEXT PRIMARY KEY NOT NULL,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    body TEXT NOT NULL,
    server TEXT,
    tool TEXT,
    caller TEXT,
    session_id TEXT,
    workspace TEXT,
    intent_type TEXT,
    safety_class TEXT,
    verdict TEXT,
    rule_id TEXT,
    approval_id TEXT
) STRICT;

-- One index per filter, each in the order of the list. The id is left out: times are in microseconds, so what is left
-- to sort within one time is next to nothing, and the index is a third smaller.
CREATE INDEX activity_at ON activity (at);
CREATE INDEX activity_type ON activity (type, at);
CREATE INDEX activity_status ON activity (status, at);
CREATE INDEX activity_server ON activity (server, at) WHERE server IS NOT NULL;
CREATE INDEX activity_tool ON activity (tool, at) WHERE tool IS NOT NULL;
CREATE INDEX activity_caller ON activity (caller, at) WHERE caller IS NOT NULL;
CREATE INDEX activity_session ON activity (session_id, at) WHERE session_id IS NOT NULL;
CREATE INDEX activity_intent ON activity (intent_type, at) WHERE intent_type IS NOT NULL;
CREATE INDEX activity_class ON activity (safety_class, at) WHERE safety_class IS NOT NULL;
CREATE INDEX activity_verdict ON activity (verdict, at) WHERE verdict IS NOT NULL;

-- Credentials; only the hash of a secret is kept.
CREATE TABLE token (
    id TEXT PRIMARY KEY NOT NULL,
    principal TEXT NOT NULL,
    kind TEXT NOT NULL,
    roles TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    scope TEXT NOT NULL
) STRICT;
