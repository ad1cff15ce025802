-- What each catalog of the database holds.
SELECT k.name, k.generation,
  (SELECT count(*) FROM repertoire.skills s WHERE s.catalog = k.id),
  (SELECT count(*) FROM repertoire.files f WHERE f.catalog = k.id),
  (SELECT coalesce(sum(octet_length(c.data)), 0)::bigint FROM repertoire.contents c WHERE c.catalog = k.id),
  (SELECT count(*) FROM repertoire.bases b WHERE b.catalog = k.id),
  (SELECT coalesce(sum(b.size), 0)::bigint FROM repertoire.bases b WHERE b.catalog = k.id)
FROM repertoire.catalogs k ORDER BY k.name
