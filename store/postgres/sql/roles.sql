-- Roles for catalogs in this database. Run this as the owner of the schema, who makes the
-- tables and changes them when a newer program needs that, and who needs the right to make
-- roles (CREATEROLE). Nobody logs in as these three. Make a user of each that you need:
--   CREATE ROLE pusher LOGIN PASSWORD '…' IN ROLE repertoire_writer;   -- may push skills, and add tokens
--   CREATE ROLE node LOGIN PASSWORD '…' IN ROLE repertoire_node;       -- may read, add to the log of usage, and write proposals
--   CREATE ROLE colleague LOGIN PASSWORD '…' IN ROLE repertoire_reader; -- is enough for commands
CREATE SCHEMA IF NOT EXISTS repertoire;
DO $$ BEGIN CREATE ROLE repertoire_writer NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
DO $$ BEGIN CREATE ROLE repertoire_reader NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
DO $$ BEGIN CREATE ROLE repertoire_node NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
GRANT repertoire_reader TO repertoire_node;
GRANT USAGE ON SCHEMA repertoire TO repertoire_writer, repertoire_reader;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA repertoire TO repertoire_writer;
GRANT SELECT ON ALL TABLES IN SCHEMA repertoire TO repertoire_reader;
-- And of tables that the same owner makes later.
ALTER DEFAULT PRIVILEGES IN SCHEMA repertoire GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO repertoire_writer;
ALTER DEFAULT PRIVILEGES IN SCHEMA repertoire GRANT SELECT ON TABLES TO repertoire_reader;
