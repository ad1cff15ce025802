DELETE FROM vectors WHERE rowid IN (
  SELECT rowid FROM vectors ORDER BY used, rowid LIMIT (SELECT count(*) / 8 + 1 FROM vectors)
)
