-- The skills of a source that is apart count for themselves, and all others together; of the
-- first ones of each, those with the digest of an earlier one are shadowed too: they are
-- copies. Of the skills with the same name, the one whose source has the highest priority is
-- offered, those of sources that are away last, then the first by source, then one whose
-- folder has its name, then the first by path, so that the order of writing makes no
-- difference. @rows are the skills that were put or deleted. Contested are their names and
-- their old names: a skill that lost its name is still in shadowed_by of the skills that
-- it shadowed. @all adds all names that two skills have, and the names of all shadowed
-- skills.
--
-- In a new catalog the planner knows nothing about the tables, and would read all skills:
-- OFFSET 0 and the array make it look each name and each skill up in an index.
WITH contested (key) AS (
  SELECT s.key FROM unnest(@rows::bigint[]) r (id) CROSS JOIN LATERAL (
    SELECT sha256(name_key) AS key FROM repertoire.skills WHERE catalog = @catalog AND id = r.id AND NOT refused OFFSET 0
  ) s
  UNION SELECT sha256(name_key) FROM repertoire.skills WHERE catalog = @catalog AND shadowed_by = ANY (@rows::bigint[])
  UNION SELECT sha256(name_key) FROM repertoire.skills WHERE @all AND catalog = @catalog AND NOT refused
    GROUP BY 1 HAVING count(*) > 1
  UNION SELECT sha256(name_key) FROM repertoire.skills WHERE @all AND catalog = @catalog AND shadowed_by IS NOT NULL
),
ranked AS (
  SELECT s.id, s.shadowed_by, s.name_key, s.digest, CASE WHEN o.apart THEN o.id ELSE 0 END AS names,
         row_number() OVER (PARTITION BY s.name_key ORDER BY o.away, o.priority DESC, o.label, s.own_folder DESC, s.path) AS place
  FROM contested c
  CROSS JOIN LATERAL (
    SELECT * FROM repertoire.skills s WHERE s.catalog = @catalog AND sha256(s.name_key) = c.key AND NOT s.refused OFFSET 0
  ) s
  JOIN repertoire.sources o ON o.catalog = s.catalog AND o.id = s.source
),
own AS MATERIALIZED (
  SELECT *, first_value(id) OVER (PARTITION BY name_key, names ORDER BY place) AS first FROM ranked
),
firsts AS (
  SELECT id, first_value(id) OVER (PARTITION BY name_key, digest, CASE WHEN digest = '' THEN id ELSE 0 END ORDER BY place) AS winner
  FROM own WHERE id = first
),
found AS MATERIALIZED (
  SELECT o.id, o.shadowed_by, nullif(f.winner, o.id) AS winner FROM own o JOIN firsts f ON f.id = o.first
),
settled AS (
  UPDATE repertoire.skills s SET shadowed_by = (SELECT f.winner FROM found f WHERE f.id = s.id)
  WHERE s.catalog = @catalog
    AND s.id = ANY (ARRAY(SELECT f.id FROM found f WHERE f.shadowed_by IS DISTINCT FROM f.winner))
  RETURNING s.id
)
INSERT INTO repertoire.changes (catalog, skill, model, generation) SELECT @catalog, id, 0, @generation FROM settled
ON CONFLICT (catalog, skill, model) DO UPDATE SET generation = excluded.generation
