-- Notes the skills with a text whose vector is new or another one: a vector that is the same
-- again may be that of very many skills. OFFSET 0 makes the planner look each text up in the
-- index; in a new catalog it would read all texts.
WITH differ AS (
  INSERT INTO repertoire.vectors AS old (catalog, model, hash, vector)
  SELECT @catalog, @id, * FROM unnest(@hashes::bytea[], @vectors::bytea[])
  ON CONFLICT (catalog, model, hash) DO UPDATE SET vector = excluded.vector WHERE old.vector <> excluded.vector
  RETURNING hash
)
INSERT INTO repertoire.changes (catalog, skill, model, generation)
SELECT DISTINCT @catalog::bigint, t.skill, @id::bigint, @generation::bigint
FROM differ d CROSS JOIN LATERAL (
  SELECT skill FROM repertoire.texts WHERE catalog = @catalog AND hash = d.hash OFFSET 0
) t
ON CONFLICT (catalog, skill, model) DO UPDATE SET generation = excluded.generation
