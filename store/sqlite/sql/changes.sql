-- Returns the skills that changed after a generation: no row if the generation is not
-- known, one row with NULL if it is known and nothing changed. It is one statement, so
-- that nobody can forget changes between the two questions. Without INDEXED BY, SQLite
-- would read all changes to avoid sorting the few that count.
SELECT DISTINCT c.skill_id
FROM generations g LEFT JOIN changes c INDEXED BY changes_by_generation
  ON c.generation > g.number AND c.model_id IN (0, ifnull((SELECT id FROM models WHERE name = :model), 0))
WHERE g.number = :number AND g.token = :token
ORDER BY c.skill_id
