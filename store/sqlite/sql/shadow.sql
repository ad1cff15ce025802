-- The skills of a source that is apart count for themselves, and all others together; of the
-- first ones of each, those with the digest of an earlier one are shadowed too: they are
-- copies. Of the skills with the same name, the one whose source has the highest priority is
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
  SELECT s.id, s.name_key, s.digest, iif(o.apart, o.id, 0) AS names,
         row_number() OVER (PARTITION BY s.name_key ORDER BY o.away, o.priority DESC, o.label, s.own_folder DESC, s.path) AS place
  FROM contested c CROSS JOIN skills s ON s.name_key = c.name_key JOIN sources o ON o.id = s.source_id
  WHERE s.refused = 0
),
own AS (
  SELECT *, first_value(id) OVER (PARTITION BY name_key, names ORDER BY place) AS first FROM ranked
),
firsts AS (
  SELECT id, first_value(id) OVER (PARTITION BY name_key, digest, iif(digest = '', id, 0) ORDER BY place) AS winner
  FROM own WHERE id = first
),
settled AS (
  SELECT o.id, CASE WHEN f.winner <> o.id THEN f.winner END AS winner FROM own o JOIN firsts f ON f.id = o.first
)
UPDATE skills SET shadowed_by = r.winner
FROM settled r
WHERE skills.id = r.id AND skills.shadowed_by IS NOT r.winner
