-- Chunks of uploads that are under way are not visible yet.
DELETE FROM repertoire.chunks WHERE catalog = @catalog
  AND upload NOT IN (SELECT upload FROM repertoire.bases WHERE catalog = @catalog)
