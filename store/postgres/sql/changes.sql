-- Returns the skills that changed after a generation: no row if the generation is not
-- known, one row with NULL if it is known and nothing changed. It is one statement, so
-- that nobody can forget changes between the two questions.
SELECT DISTINCT c.skill
FROM repertoire.generations g LEFT JOIN repertoire.changes c ON c.catalog = g.catalog AND c.generation > g.number
  AND c.model IN (0, coalesce((SELECT id FROM repertoire.models WHERE catalog = @catalog AND name = @model), 0))
WHERE g.catalog = @catalog AND g.number = @generation AND g.token = @token
ORDER BY c.skill
