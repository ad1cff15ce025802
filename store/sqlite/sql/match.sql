-- :allowed is a JSON array of skill ids; NULL means all. It is a condition of the query,
-- not a filter on its result, so a scope never shrinks the answer.
SELECT f.rowid, -bm25(fts, :body, :name, :description, :tags) AS score
FROM fts f JOIN skills s ON s.id = f.rowid
WHERE f.fts MATCH :query AND s.shadowed_by IS NULL
  AND (:allowed IS NULL OR f.rowid IN (SELECT value FROM json_each(:allowed)))
ORDER BY score DESC, s.name_key LIMIT :limit
