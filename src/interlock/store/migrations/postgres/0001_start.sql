-- The log, the activities, the approvals and all the rest, for several gateways on one database.
--
-- Everything lies in a schema of its own, so that the database may hold other things too. Texts that are put in order
-- have the collation "C": as bytes, whatever language the database was made for.

-- How far this schema has come.
CREATE TABLE version (
    version BIGINT PRIMARY KEY
);

-- The time of the database, in microseconds since the epoch. Deadlines are compared with it, because it is one clock for
-- all gateways. Read anew whenever it is asked: somebody may have waited for a row in between.
CREATE FUNCTION now_micros() RETURNS BIGINT LANGUAGE sql VOLATILE
RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT;

-- A JSON text, to look into. PostgreSQL reads none that has a null character or half a character in it, which agents can
-- send: the escapes of those are left out before. A pair of backslashes is no beginning of an escape.
CREATE FUNCTION readable(body TEXT) RETURNS JSONB LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN regexp_replace(body, '(\\\\)|\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\1', 'g')::JSONB;

-- The chains of this database, one for each gateway; a restart of a gateway continues its own.
CREATE TABLE chain (
    id TEXT PRIMARY KEY,
    started_at BIGINT NOT NULL
);

-- The sealed log. A second successor of an entry would be a fork: the key and the guard below let none in.
CREATE TABLE entry (
    chain TEXT NOT NULL,
    seq BIGINT NOT NULL CHECK (seq > 0),
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    text TEXT NOT NULL,
    prev BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    PRIMARY KEY (chain, seq)
);

-- A guard looks into the tables of this schema and into no others of the same names, whoever sets it off: each says where.

-- The log only grows: what was added follows what was there, without a gap, up to the very end. Looked at once for each
-- statement and not for each row, because a statement adds many.
CREATE FUNCTION entry_follows() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = interlock, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM added LEFT JOIN entry AS before ON before.chain = added.chain AND before.seq = added.seq - 1
        WHERE added.prev IS DISTINCT FROM CASE WHEN added.seq = 1 THEN decode(repeat('00', 32), 'hex') ELSE before.hash END
    ) OR EXISTS (
        SELECT 1 FROM added GROUP BY chain
        HAVING max(seq) - min(seq) + 1 <> count(*)
            OR max(seq) <> (SELECT max(entry.seq) FROM entry WHERE entry.chain = added.chain)
    ) THEN
        RAISE EXCEPTION 'the log only grows: an entry must follow the last one';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER entry_follows AFTER INSERT ON entry
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION entry_follows();

-- What never happens to a table, whoever writes to it. The sentence is the argument of the trigger.
CREATE FUNCTION never() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = interlock, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0];
END $$;
CREATE TRIGGER entry_stays BEFORE UPDATE ON entry
FOR EACH STATEMENT EXECUTE FUNCTION never('the log only grows: an entry is never changed');
CREATE TRIGGER entry_is_not_emptied BEFORE TRUNCATE ON entry
FOR EACH STATEMENT EXECUTE FUNCTION never('the log only grows: an entry is never deleted');

-- Signed words about the log. A seal says: up to this entry the log was so, or: up to this entry it was removed. What is
-- signed is the text.
CREATE TABLE seal (
    chain TEXT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('checkpoint', 'pruned')),
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    text TEXT NOT NULL,
    key TEXT NOT NULL,
    signature BYTEA NOT NULL,
    PRIMARY KEY (chain, kind, seq)
);

-- Seals are set forwards, on an entry that is there. What is removed ends at a checkpoint, and never with the last
-- entry: the next one has to follow something.
CREATE FUNCTION seal_has_its_place() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = interlock, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM entry WHERE chain = NEW.chain AND seq = NEW.seq)
        OR NEW.seq <= coalesce((SELECT max(seq) FROM seal WHERE chain = NEW.chain AND kind = NEW.kind), 0)
    THEN
        RAISE EXCEPTION 'a seal names an entry that is there, and follows the seal before it';
    END IF;
    IF NEW.kind = 'pruned' AND (
        NOT EXISTS (SELECT 1 FROM seal WHERE chain = NEW.chain AND kind = 'checkpoint' AND seq = NEW.seq)
        OR NEW.seq >= (SELECT max(seq) FROM entry WHERE chain = NEW.chain)
    ) THEN
        RAISE EXCEPTION 'only what a checkpoint covers is removed, and never the last entry';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER seal_has_its_place BEFORE INSERT ON seal FOR EACH ROW EXECUTE FUNCTION seal_has_its_place();
CREATE TRIGGER seal_stays BEFORE UPDATE ON seal
FOR EACH STATEMENT EXECUTE FUNCTION never('a seal is never changed');
CREATE TRIGGER seal_remains BEFORE DELETE OR TRUNCATE ON seal
FOR EACH STATEMENT EXECUTE FUNCTION never('a seal is never deleted');

-- An entry is deleted only if a seal says that it was.
CREATE FUNCTION entry_remains() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = interlock, pg_temp AS $$
BEGIN
    IF OLD.seq > coalesce((SELECT max(seq) FROM seal WHERE chain = OLD.chain AND kind = 'pruned'), 0) THEN
        RAISE EXCEPTION 'the log only grows: an entry is deleted only with a sealed stretch';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER entry_remains BEFORE DELETE ON entry FOR EACH ROW EXECUTE FUNCTION entry_remains();

-- The latest version of each activity, for listing. The chain is that of the gateway that told of it last.
CREATE TABLE activity (
    id TEXT COLLATE "C" PRIMARY KEY,
    at BIGINT NOT NULL,
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    body TEXT NOT NULL,
    server TEXT,
    tool TEXT,
    caller TEXT COLLATE "C",
    session_id TEXT,
    workspace TEXT,
    intent_type TEXT,
    safety_class TEXT,
    verdict TEXT,
    rule_id TEXT COLLATE "C",
    approval_id TEXT,
    chain TEXT NOT NULL
);

-- One index per filter, each in the order of the list.
CREATE INDEX activity_at ON activity (at, id);
CREATE INDEX activity_type ON activity (type, at);
CREATE INDEX activity_status ON activity (status, at);
CREATE INDEX activity_server ON activity (server, at) WHERE server IS NOT NULL;
CREATE INDEX activity_tool ON activity (tool, at) WHERE tool IS NOT NULL;
CREATE INDEX activity_caller ON activity (caller, at) WHERE caller IS NOT NULL;
CREATE INDEX activity_session ON activity (session_id, at) WHERE session_id IS NOT NULL;
CREATE INDEX activity_intent ON activity (intent_type, at) WHERE intent_type IS NOT NULL;
CREATE INDEX activity_class ON activity (safety_class, at) WHERE safety_class IS NOT NULL;
CREATE INDEX activity_verdict ON activity (verdict, at) WHERE verdict IS NOT NULL;
CREATE INDEX activity_rule ON activity (rule_id, type, at) WHERE rule_id IS NOT NULL;

-- Credentials; only the hash of a secret is kept.
CREATE TABLE token (
    id TEXT COLLATE "C" PRIMARY KEY,
    principal TEXT NOT NULL,
    kind TEXT NOT NULL,
    roles TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    scope TEXT NOT NULL
);

-- The operator's word about tools: what was reviewed, and which classes were set. A server is in here from its first
-- listing on: without its row the next listing is the first one.
CREATE TABLE baseline (
    server TEXT COLLATE "C" PRIMARY KEY,
    since BIGINT NOT NULL
);
CREATE TABLE reviewed (
    server TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    definition TEXT,
    told TEXT,
    PRIMARY KEY (server, tool)
);
CREATE TABLE override (
    server TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    safety_class TEXT NOT NULL,
    PRIMARY KEY (server, tool)
);

-- Servers beside the configuration file, in the order in which they came.
CREATE TABLE server (
    id TEXT PRIMARY KEY,
    enabled BIGINT NOT NULL,
    definition TEXT,
    place BIGINT GENERATED ALWAYS AS IDENTITY
);

-- One question to reviewers. The row decides, whoever asks and at whichever gateway: an answer is one statement that
-- finds it pending or changes nothing.
CREATE TABLE approval (
    id TEXT COLLATE "C" PRIMARY KEY,
    status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'denied', 'timeout', 'cancelled')),
    version BIGINT NOT NULL,
    requester TEXT NOT NULL,
    approver TEXT,
    workspace TEXT,
    session_id TEXT,
    gateway TEXT NOT NULL,
    answered BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    decided_at BIGINT,
    expires_at BIGINT NOT NULL,
    waits_for TEXT NOT NULL,
    votes TEXT NOT NULL,
    body TEXT NOT NULL,
    -- Nobody answers for a call of its own, whoever writes to this database.
    CONSTRAINT approval_by_another CHECK (approver IS NULL OR approver <> requester),
    CONSTRAINT approval_decided_when_resolved CHECK ((status = 'pending') = (decided_at IS NULL)),
    CONSTRAINT approval_by_somebody CHECK (status NOT IN ('approved', 'denied') OR approver IS NOT NULL)
);

-- A call that waits is asked about once, whichever gateway it came to.
CREATE UNIQUE INDEX approval_waiting ON approval (waits_for) WHERE status = 'pending';
CREATE INDEX approval_at ON approval (created_at);
CREATE INDEX approval_status ON approval (status, created_at);
CREATE INDEX approval_workspace ON approval (workspace, created_at) WHERE workspace IS NOT NULL;
CREATE INDEX approval_session ON approval (session_id, created_at) WHERE session_id IS NOT NULL;
CREATE INDEX approval_requester ON approval (requester, created_at);
CREATE INDEX approval_decided ON approval (decided_at) WHERE decided_at IS NOT NULL;
CREATE INDEX approval_tool ON approval (
    (readable(body) #>> '{key,server}'), (readable(body) #>> '{key,tool}'), decided_at
) WHERE status = 'approved';

-- Everything begins as a question. Exactly one transition, ever; who asked, for what and until when is never changed; and
-- nobody votes for a call of its own.
CREATE FUNCTION approval_moves_once() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = interlock, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'pending' OR NEW.votes <> '[]' THEN
            RAISE EXCEPTION 'an approval begins as pending';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.status <> 'pending'
        OR NEW.id <> OLD.id OR NEW.requester <> OLD.requester OR NEW.waits_for <> OLD.waits_for
        OR NEW.created_at <> OLD.created_at OR NEW.expires_at <> OLD.expires_at
    THEN
        RAISE EXCEPTION 'an approval is resolved once, and what was asked is never changed';
    END IF;
    IF EXISTS (
        SELECT 1 FROM jsonb_array_elements(readable(NEW.votes)) AS vote WHERE vote ->> 'approver' = NEW.requester
    ) THEN
        RAISE EXCEPTION 'nobody votes for a call of its own';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER approval_moves_once BEFORE INSERT OR UPDATE ON approval
FOR EACH ROW EXECUTE FUNCTION approval_moves_once();
CREATE TRIGGER approval_remains BEFORE DELETE OR TRUNCATE ON approval
FOR EACH STATEMENT EXECUTE FUNCTION never('an approval is never deleted');

-- What an approval became. Using it is one statement, in one transaction with the record of the call that uses it.
CREATE TABLE granted (
    id TEXT COLLATE "C" PRIMARY KEY,
    approval TEXT COLLATE "C" NOT NULL UNIQUE REFERENCES approval (id),
    caller TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('once', 'identical', 'tool')),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    uses_left BIGINT CHECK (uses_left IS NULL OR uses_left >= 0),
    uses BIGINT NOT NULL,
    revoked_at BIGINT,
    activity TEXT,
    body TEXT NOT NULL,
    CONSTRAINT granted_once CHECK (scope <> 'once' OR (uses_left IS NOT NULL AND uses_left + uses = 1))
);
CREATE INDEX granted_until ON granted (expires_at);

-- No grant without an approval that was given, and it is only used or revoked.
CREATE FUNCTION granted_by_approval() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = interlock, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM approval WHERE id = NEW.approval AND status = 'approved' AND requester = NEW.caller
    ) THEN
        RAISE EXCEPTION 'a grant needs an approval that was given, and there is one of each';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER granted_by_approval BEFORE INSERT ON granted FOR EACH ROW EXECUTE FUNCTION granted_by_approval();

CREATE FUNCTION granted_stays() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = interlock, pg_temp AS $$
BEGIN
    IF NEW.id <> OLD.id OR NEW.approval <> OLD.approval OR NEW.caller <> OLD.caller
        OR NEW.scope <> OLD.scope OR NEW.expires_at <> OLD.expires_at OR NEW.body <> OLD.body
        OR NEW.uses < OLD.uses OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
    THEN
        RAISE EXCEPTION 'a grant is only used or revoked';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER granted_stays BEFORE UPDATE ON granted FOR EACH ROW EXECUTE FUNCTION granted_stays();
CREATE TRIGGER granted_remains BEFORE DELETE OR TRUNCATE ON granted
FOR EACH STATEMENT EXECUTE FUNCTION never('a grant is never deleted');

-- What is stopped: everything (''), one server, or one caller. Quoted, because it is a word of SQL.
CREATE TABLE "freeze" (
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('all', 'server', 'caller')),
    name TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    by TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (kind, name)
);
