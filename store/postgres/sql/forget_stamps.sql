WITH read AS (
  UPDATE repertoire.skills SET stamp = '', digest = '' WHERE catalog = @catalog AND source = @source RETURNING id
)
INSERT INTO repertoire.changes (catalog, skill, model, generation) SELECT @catalog, id, 0, @generation FROM read
ON CONFLICT (catalog, skill, model) DO UPDATE SET generation = excluded.generation
