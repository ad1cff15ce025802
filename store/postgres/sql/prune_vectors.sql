DELETE FROM repertoire.vectors v WHERE v.catalog = @catalog
  AND NOT EXISTS (SELECT 1 FROM repertoire.texts t WHERE t.catalog = v.catalog AND t.hash = v.hash)
