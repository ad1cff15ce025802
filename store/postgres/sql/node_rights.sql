-- What nodes may write beside what readers may read: each table here once. It runs with the roles and
-- with each change of the schema, because either may come first.
DO $$
DECLARE
  written record;
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'repertoire_node') THEN
    FOR written IN SELECT * FROM (VALUES
      ('repertoire.usage', 'SELECT, INSERT'),
      ('repertoire.proposals', 'SELECT, INSERT, UPDATE (waits, info)')
    ) v (name, rights) LOOP
      IF to_regclass(written.name) IS NOT NULL THEN
        EXECUTE 'GRANT ' || written.rights || ' ON ' || written.name || ' TO repertoire_node';
      END IF;
    END LOOP;
  END IF;
END $$;
