-- What nodes note of the use of skills, see package usage. A line is JSON; its id comes from its
-- bytes, so that a line that is sent twice is there once. Prompts are in it only if the
-- configuration of a node wants that.
CREATE TABLE repertoire.usage (
  catalog bigint NOT NULL REFERENCES repertoire.catalogs ON DELETE CASCADE,
  at      timestamptz NOT NULL,
  id      bigint NOT NULL,
  line    bytea NOT NULL,
  PRIMARY KEY (catalog, at, id)
);
ALTER TABLE repertoire.usage ALTER COLUMN line SET STORAGE EXTERNAL;
-- How many bytes the lines of a month have, as in UTC.
CREATE TABLE repertoire.usage_months (
  catalog bigint NOT NULL REFERENCES repertoire.catalogs ON DELETE CASCADE,
  month   timestamp NOT NULL,              -- its start
  bytes   bigint NOT NULL,
  PRIMARY KEY (catalog, month)
);

-- Keeps the log within the bounds of package store: whoever may add lines, as nodes may, needs no
-- right to delete any, and cannot fill the disk. Of a month that is full the oldest eighth goes, so
-- that it is not looked through for each new line.
CREATE FUNCTION repertoire.bound_usage() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  too_long record;
BEGIN
  -- A line of the future, from a wrong clock or an enemy, would take the place of a month; a large one, of all others.
  DELETE FROM repertoire.usage u USING added a WHERE u.catalog = a.catalog AND u.at = a.at AND u.id = a.id
    AND (a.at > now() + interval '1 day' OR octet_length(a.line) > 1048576);
  INSERT INTO repertoire.usage_months AS m (catalog, month, bytes)
    SELECT u.catalog, date_trunc('month', u.at AT TIME ZONE 'UTC'), sum(octet_length(u.line))
    FROM added a JOIN repertoire.usage u USING (catalog, at, id) GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (catalog, month) DO UPDATE SET bytes = m.bytes + excluded.bytes;
  FOR too_long IN
    SELECT c.catalog, (SELECT m.month FROM repertoire.usage_months m WHERE m.catalog = c.catalog ORDER BY m.month DESC OFFSET 11 LIMIT 1) AS oldest
    FROM (SELECT DISTINCT a.catalog FROM added a) c
  LOOP
    DELETE FROM repertoire.usage u WHERE u.catalog = too_long.catalog AND u.at < too_long.oldest AT TIME ZONE 'UTC';
    DELETE FROM repertoire.usage_months m WHERE m.catalog = too_long.catalog AND m.month < too_long.oldest;
  END LOOP;
  FOR too_long IN
    SELECT m.catalog, m.month, m.month AT TIME ZONE 'UTC' AS first, (m.month + interval '1 month') AT TIME ZONE 'UTC' AS next
    FROM repertoire.usage_months m WHERE m.bytes > 33554432 AND m.catalog IN (SELECT a.catalog FROM added a)
  LOOP
    DELETE FROM repertoire.usage u USING (
      SELECT l.at, l.id, sum(octet_length(l.line)) OVER (ORDER BY l.at DESC, l.id DESC) AS newer
      FROM repertoire.usage l WHERE l.catalog = too_long.catalog AND l.at >= too_long.first AND l.at < too_long.next
    ) s WHERE u.catalog = too_long.catalog AND u.at = s.at AND u.id = s.id AND s.newer > 33554432 / 8 * 7;
    UPDATE repertoire.usage_months m SET bytes = (
      SELECT coalesce(sum(octet_length(l.line)), 0) FROM repertoire.usage l
      WHERE l.catalog = too_long.catalog AND l.at >= too_long.first AND l.at < too_long.next
    ) WHERE m.catalog = too_long.catalog AND m.month = too_long.month;
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER bound_usage AFTER INSERT ON repertoire.usage REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION repertoire.bound_usage();
