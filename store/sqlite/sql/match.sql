-- :allowed is a JSON array of skill ids; NULL means all offered skills. It is a condition
-- of the query, not a filter on its result, so a scope never shrinks the answer. A scope
-- may offer a skill that another one, outside of the scope, shadows.
SELECT f.rowid, -bm25(fts, :body, :name, :description, :tags) AS score
FROM fts f JOIN skills s ON s.id = f.rowid
WHERE f.fts MATCH :query AND CASE
  WHEN :allowed IS NULL THEN s.shadowed_by IS NULL AND s.source_id NOT IN (SELECT o.id FROM sources o WHERE o.away)
  ELSE f.rowid IN (SELECT value FROM json_each(:allowed)) END
ORDER BY score DESC, s.name_key, s.id LIMIT :limit
