-- What nodes may write beside what readers may read: each table here once. It runs with the roles and
-- with each change of the schema, because either may come first.
DO $$
DECLARE
  written text;
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'repertoire_node') THEN
    FOREACH written IN ARRAY ARRAY['repertoire.usage'] LOOP
      IF to_regclass(written) IS NOT NULL THEN
        EXECUTE 'GRANT SELECT, INSERT ON ' || written || ' TO repertoire_node';
      END IF;
    END LOOP;
  END IF;
END $$;
