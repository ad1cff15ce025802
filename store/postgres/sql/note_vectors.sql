-- OFFSET 0 makes the planner look each text up in the index; in a new catalog it would read
-- all texts.
INSERT INTO repertoire.changes (catalog, skill, model, generation)
SELECT DISTINCT @catalog::bigint, t.skill, @id::bigint, @generation::bigint
FROM unnest(@hashes::bytea[]) h CROSS JOIN LATERAL (
  SELECT skill FROM repertoire.texts WHERE catalog = @catalog AND hash = h OFFSET 0
) t
ON CONFLICT (catalog, skill, model) DO UPDATE SET generation = excluded.generation
