-- The rights of a gateway that runs, for a database that somebody else has made and migrated: it can add to the log and
-- read it, and nothing more. Run this as the owner of the schema, after each migration, and then give the role to the one
-- that the gateway's address names: GRANT interlock_gateway TO its_name;
--
-- Old entries cannot be removed with these rights. A gateway that is to prune its log (`interlock audit prune`,
-- `record.keep_days`) is given a second role as well: GRANT interlock_pruner TO its_name; the guards see to it that only
-- sealed stretches go.
DO $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'interlock_gateway') THEN
        CREATE ROLE interlock_gateway NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'interlock_pruner') THEN
        CREATE ROLE interlock_pruner NOLOGIN;
    END IF;
END $$;

GRANT USAGE ON SCHEMA interlock TO interlock_gateway;
REVOKE ALL ON ALL TABLES IN SCHEMA interlock FROM interlock_gateway;
GRANT SELECT ON ALL TABLES IN SCHEMA interlock TO interlock_gateway;
GRANT INSERT ON interlock.chain, interlock.entry, interlock.seal, interlock.baseline TO interlock_gateway;
GRANT INSERT, UPDATE ON interlock.activity, interlock.token, interlock.approval, interlock.granted
TO interlock_gateway;
GRANT INSERT, UPDATE, DELETE ON interlock.reviewed, interlock.override, interlock.server, interlock."freeze",
    interlock.gateway
TO interlock_gateway;
GRANT UPDATE ON interlock.change TO interlock_gateway;

GRANT USAGE ON SCHEMA interlock TO interlock_pruner;
REVOKE ALL ON ALL TABLES IN SCHEMA interlock FROM interlock_pruner;
GRANT DELETE ON interlock.entry, interlock.activity TO interlock_pruner;
