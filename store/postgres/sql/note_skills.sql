INSERT INTO repertoire.changes (catalog, skill, model, generation)
SELECT @catalog, id, 0, @generation FROM unnest(@rows::bigint[]) id
ON CONFLICT (catalog, skill, model) DO UPDATE SET generation = excluded.generation
