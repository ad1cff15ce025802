-- Of the skills of one name the one from the source with the highest priority
-- is offered; then the first by source and path, so that it never depends on
-- the order of indexing. Contested are the names of the skills that this
-- transaction changed, and the names that they had before: a skill that lost its
-- name still stands in shadowed_by of those that it shadowed, and a skill that a
-- deleted one shadowed has changed too. :all adds the names of all sources: those
-- that two skills have, and those of skills that are shadowed now.
WITH changed (id) AS (
  SELECT skill_id FROM changes WHERE generation = (SELECT generation + 1 FROM state) AND model_id = 0
),
contested (name_key) AS (
  SELECT s.name_key FROM changed c CROSS JOIN skills s ON s.id = c.id WHERE s.refused = 0
  UNION SELECT s.name_key FROM changed c CROSS JOIN skills s ON s.shadowed_by = c.id
  UNION SELECT name_key FROM skills WHERE :all AND refused = 0 GROUP BY name_key HAVING count(*) > 1
  UNION SELECT name_key FROM skills WHERE :all AND shadowed_by IS NOT NULL
),
ranked AS (
  SELECT s.id, first_value(s.id) OVER (
           PARTITION BY s.name_key ORDER BY o.priority DESC, o.label, s.path) AS winner
  FROM contested c CROSS JOIN skills s ON s.name_key = c.name_key JOIN sources o ON o.id = s.source_id
  WHERE s.refused = 0
)
UPDATE skills SET shadowed_by = CASE WHEN r.winner = r.id THEN NULL ELSE r.winner END
FROM ranked r
WHERE skills.id = r.id
  AND skills.shadowed_by IS NOT CASE WHEN r.winner = r.id THEN NULL ELSE r.winner END
