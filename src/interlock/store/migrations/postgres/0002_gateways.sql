-- Several gateways on one database: who of them lives, and what each has to look at anew.

-- The runs of gateways: one row for each start. A gateway that lives counts its beat up; one whose beat stands still is
-- taken for dead by the others, by their own measure of time, and the first of them to write that down settles what it
-- left. A run that has ended never lives again: who comes back is another run.
CREATE TABLE gateway (
    run TEXT COLLATE "C" PRIMARY KEY,
    chain TEXT NOT NULL,
    beat BIGINT NOT NULL DEFAULT 0,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    ended_by TEXT
);
CREATE INDEX gateway_living ON gateway (chain) WHERE ended_at IS NULL;

CREATE FUNCTION gateway_ends_once() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = interlock, pg_temp AS $$
BEGIN
    IF OLD.ended_at IS NOT NULL OR NEW.run <> OLD.run OR NEW.chain <> OLD.chain OR NEW.beat < OLD.beat THEN
        RAISE EXCEPTION 'a run of a gateway that has ended stays as it is';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER gateway_ends_once BEFORE UPDATE ON gateway FOR EACH ROW EXECUTE FUNCTION gateway_ends_once();

-- What has changed: a number for each kind of thing that all gateways know. A transaction that changes some of a kind takes
-- the next number, once, and keeps the row locked until it has ended, so that numbers are committed in their order:
-- whoever has seen a number has seen all before it.
CREATE TABLE change (
    kind TEXT COLLATE "C" PRIMARY KEY,
    number BIGINT NOT NULL DEFAULT 0,
    by XID8 NOT NULL DEFAULT '0'
);
INSERT INTO change (kind)
VALUES ('approval'), ('grant'), ('freeze'), ('token'), ('review'), ('override'), ('server');

-- With the rights of whoever changes something, and for whoever that is: somebody who helps by hand is followed too.
CREATE FUNCTION next_change(what TEXT) RETURNS BIGINT LANGUAGE plpgsql SET search_path = interlock, pg_temp AS $$
BEGIN
    UPDATE change SET number = number + 1, by = pg_current_xact_id() WHERE kind = what AND by <> pg_current_xact_id();
    RETURN (SELECT number FROM change WHERE kind = what);
END $$;

-- Few of these are ever changed, so the number says enough: all of the kind are read anew.
CREATE FUNCTION is_change() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = interlock, pg_temp AS $$
BEGIN
    PERFORM next_change(TG_ARGV[0]);
    RETURN NULL;
END $$;
CREATE TRIGGER freeze_changes AFTER INSERT OR UPDATE OR DELETE ON "freeze"
FOR EACH STATEMENT EXECUTE FUNCTION is_change('freeze');
CREATE TRIGGER token_changes AFTER INSERT OR UPDATE OR DELETE ON token
FOR EACH STATEMENT EXECUTE FUNCTION is_change('token');
CREATE TRIGGER baseline_changes AFTER INSERT OR UPDATE OR DELETE ON baseline
FOR EACH STATEMENT EXECUTE FUNCTION is_change('review');
CREATE TRIGGER reviewed_changes AFTER INSERT OR UPDATE OR DELETE ON reviewed
FOR EACH STATEMENT EXECUTE FUNCTION is_change('review');
CREATE TRIGGER override_changes AFTER INSERT OR UPDATE OR DELETE ON override
FOR EACH STATEMENT EXECUTE FUNCTION is_change('override');
CREATE TRIGGER server_changes AFTER INSERT OR UPDATE OR DELETE ON server
FOR EACH STATEMENT EXECUTE FUNCTION is_change('server');

-- Of approvals and grants there are many: each row has the number of its last change.
ALTER TABLE approval ADD COLUMN changed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE granted ADD COLUMN changed BIGINT NOT NULL DEFAULT 0;
CREATE INDEX approval_changed ON approval (changed);
CREATE INDEX granted_changed ON granted (changed);

CREATE FUNCTION row_is_change() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = interlock, pg_temp AS $$
BEGIN
    NEW.changed := next_change(TG_ARGV[0]);
    RETURN NEW;
END $$;
CREATE TRIGGER approval_changes BEFORE INSERT OR UPDATE ON approval
FOR EACH ROW EXECUTE FUNCTION row_is_change('approval');

-- That a standing grant was used once more changes nothing for anybody.
CREATE FUNCTION grant_is_change() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = interlock, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.uses_left IS DISTINCT FROM OLD.uses_left
        OR NEW.revoked_at IS DISTINCT FROM OLD.revoked_at THEN
        NEW.changed := next_change('grant');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER granted_changes BEFORE INSERT OR UPDATE ON granted
FOR EACH ROW EXECUTE FUNCTION grant_is_change();

-- A short name for each chain, for those who follow all of them: what they have heard of each stands in each event.
ALTER TABLE chain ADD COLUMN number BIGINT GENERATED ALWAYS AS IDENTITY;
CREATE UNIQUE INDEX chain_number ON chain (number);
