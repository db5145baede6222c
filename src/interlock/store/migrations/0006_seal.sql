-- Signed words about the log, and the one way in which its oldest part may be removed.

-- A seal says: up to this entry the log was so, or: up to this entry it was removed. What is signed is the text.
CREATE TABLE seal (
    chain TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('checkpoint', 'pruned')),
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    text TEXT NOT NULL,
    key TEXT NOT NULL,
    signature BLOB NOT NULL,
    PRIMARY KEY (chain, kind, seq)
) STRICT;

-- Seals are set forwards, on an entry that is there. What is removed ends at a checkpoint, and never with the last
-- entry: the next one has to follow something.
CREATE TRIGGER seal_names_an_entry BEFORE INSERT ON seal
WHEN NOT EXISTS (SELECT 1 FROM entry WHERE chain = NEW.chain AND seq = NEW.seq)
    OR NEW.seq <= coalesce((SELECT max(seq) FROM seal WHERE chain = NEW.chain AND kind = NEW.kind), 0)
BEGIN
    SELECT RAISE(ABORT, 'a seal names an entry that is there, and follows the seal before it');
END;

CREATE TRIGGER seal_ends_a_stretch BEFORE INSERT ON seal
WHEN NEW.kind = 'pruned' AND (
    NOT EXISTS (SELECT 1 FROM seal WHERE chain = NEW.chain AND kind = 'checkpoint' AND seq = NEW.seq)
    OR NEW.seq >= (SELECT max(seq) FROM entry WHERE chain = NEW.chain)
)
BEGIN
    SELECT RAISE(ABORT, 'only what a checkpoint covers is removed, and never the last entry');
END;

CREATE TRIGGER seal_stays BEFORE UPDATE ON seal
BEGIN
    SELECT RAISE(ABORT, 'a seal is never changed');
END;

CREATE TRIGGER seal_remains BEFORE DELETE ON seal
BEGIN
    SELECT RAISE(ABORT, 'a seal is never deleted');
END;

-- From now on an entry may be deleted if a seal says that it was.
DROP TRIGGER entry_remains;
CREATE TRIGGER entry_remains BEFORE DELETE ON entry
WHEN OLD.seq > coalesce((SELECT max(seq) FROM seal WHERE chain = OLD.chain AND kind = 'pruned'), 0)
BEGIN
    SELECT RAISE(ABORT, 'the log only grows: an entry is deleted only with a sealed stretch');
END;
