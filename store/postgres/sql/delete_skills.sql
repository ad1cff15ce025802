WITH gone AS (DELETE FROM repertoire.skills WHERE catalog = @catalog AND id = ANY (@rows::bigint[]) RETURNING id)
INSERT INTO repertoire.changes (catalog, skill, model, generation) SELECT @catalog, id, 0, @generation FROM gone
ON CONFLICT (catalog, skill, model) DO UPDATE SET generation = excluded.generation
