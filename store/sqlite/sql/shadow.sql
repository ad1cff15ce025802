-- Of the skills with the same name, the one whose source has the highest priority is
-- offered, those of sources that are away last, then the first by source, then one whose
-- folder has its name, then the first by path, so that the order of indexing makes no
-- difference. Contested names are the names of the skills that this transaction changed,
-- and their old names: a skill that lost its name is still in shadowed_by of the skills
-- that it shadowed, and deleting a skill also changes those that it shadowed. :all adds
-- all names that two skills have, and the names of all shadowed skills.
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
           PARTITION BY s.name_key ORDER BY o.away, o.priority DESC, o.label, s.own_folder DESC, s.path) AS winner
  FROM contested c CROSS JOIN skills s ON s.name_key = c.name_key JOIN sources o ON o.id = s.source_id
  WHERE s.refused = 0
)
UPDATE skills SET shadowed_by = CASE WHEN r.winner = r.id THEN NULL ELSE r.winner END
FROM ranked r
WHERE skills.id = r.id
  AND skills.shadowed_by IS NOT CASE WHEN r.winner = r.id THEN NULL ELSE r.winner END
