-- Approvals, what they became, and what was stopped.

-- One question to reviewers. The row decides, whoever asks: an answer is one statement that finds it pending or changes
-- nothing. `waits_for` is what a call must bring to be this very call; `body` is everything that is only shown.
CREATE TABLE approval (
    id TEXT PRIMARY KEY NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'denied', 'timeout', 'cancelled')),
    version INTEGER NOT NULL,
    requester TEXT NOT NULL,
    approver TEXT,
    workspace TEXT,
    session_id TEXT,
    gateway TEXT NOT NULL,
    answered INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    decided_at INTEGER,
    expires_at INTEGER NOT NULL,
    waits_for TEXT NOT NULL,
    votes TEXT NOT NULL,
    body TEXT NOT NULL,
    -- Nobody answers for a call of its own, whoever writes to this file.
    CHECK (approver IS NULL OR approver <> requester),
    CHECK ((status = 'pending') = (decided_at IS NULL)),
    CHECK (status NOT IN ('approved', 'denied') OR approver IS NOT NULL)
) STRICT;

-- A call that waits is asked about once.
CREATE UNIQUE INDEX approval_waiting ON approval (waits_for) WHERE status = 'pending';
CREATE INDEX approval_at ON approval (created_at);
CREATE INDEX approval_status ON approval (status, created_at);
CREATE INDEX approval_workspace ON approval (workspace, created_at) WHERE workspace IS NOT NULL;
CREATE INDEX approval_session ON approval (session_id, created_at) WHERE session_id IS NOT NULL;
CREATE INDEX approval_requester ON approval (requester, created_at);
CREATE INDEX approval_decided ON approval (decided_at) WHERE decided_at IS NOT NULL;

-- Everything begins as a question.
CREATE TRIGGER approval_begins BEFORE INSERT ON approval
WHEN NEW.status IS NOT 'pending' OR NEW.votes IS NOT '[]'
    OR EXISTS (SELECT 1 FROM approval WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'an approval begins as pending');
END;

-- Exactly one transition, ever; and who asked, for what and until when is never changed.
CREATE TRIGGER approval_moves_once BEFORE UPDATE ON approval
WHEN OLD.status IS NOT 'pending'
    OR NEW.id IS NOT OLD.id OR NEW.requester IS NOT OLD.requester OR NEW.waits_for IS NOT OLD.waits_for
    OR NEW.created_at IS NOT OLD.created_at OR NEW.expires_at IS NOT OLD.expires_at
BEGIN
    SELECT RAISE(ABORT, 'an approval is resolved once, and what was asked is never changed');
END;

CREATE TRIGGER approval_votes_of_others BEFORE UPDATE ON approval
WHEN EXISTS (SELECT 1 FROM json_each(NEW.votes) WHERE value ->> 'approver' = NEW.requester)
BEGIN
    SELECT RAISE(ABORT, 'nobody votes for a call of its own');
END;

CREATE TRIGGER approval_remains BEFORE DELETE ON approval
BEGIN
    SELECT RAISE(ABORT, 'an approval is never deleted');
END;

-- What an approval became. Using it is one statement, in one transaction with the record of the call that uses it.
CREATE TABLE granted (
    id TEXT PRIMARY KEY NOT NULL,
    approval TEXT NOT NULL UNIQUE REFERENCES approval (id),
    caller TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('once', 'identical', 'tool')),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    uses_left INTEGER CHECK (uses_left IS NULL OR uses_left >= 0),
    uses INTEGER NOT NULL,
    revoked_at INTEGER,
    activity TEXT,
    body TEXT NOT NULL,
    CHECK (scope <> 'once' OR uses_left + uses = 1)
) STRICT;
CREATE INDEX granted_until ON granted (expires_at);

-- No grant without an approval that was given.
CREATE TRIGGER granted_by_approval BEFORE INSERT ON granted
WHEN NOT EXISTS (
    SELECT 1 FROM approval WHERE id = NEW.approval AND status = 'approved' AND requester = NEW.caller
) OR EXISTS (SELECT 1 FROM granted WHERE id = NEW.id OR approval = NEW.approval)
BEGIN
    SELECT RAISE(ABORT, 'a grant needs an approval that was given, and there is one of each');
END;

CREATE TRIGGER granted_stays BEFORE UPDATE ON granted
WHEN NEW.id IS NOT OLD.id OR NEW.approval IS NOT OLD.approval OR NEW.caller IS NOT OLD.caller
    OR NEW.scope IS NOT OLD.scope OR NEW.expires_at IS NOT OLD.expires_at OR NEW.body IS NOT OLD.body
    OR NEW.uses < OLD.uses OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NOT OLD.revoked_at)
BEGIN
    SELECT RAISE(ABORT, 'a grant is only used or revoked');
END;

CREATE TRIGGER granted_remains BEFORE DELETE ON granted
BEGIN
    SELECT RAISE(ABORT, 'a grant is never deleted');
END;

-- What is stopped: everything (''), one server, or one caller.
CREATE TABLE freeze (
    kind TEXT NOT NULL CHECK (kind IN ('all', 'server', 'caller')),
    name TEXT NOT NULL,
    at INTEGER NOT NULL,
    by TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT;
