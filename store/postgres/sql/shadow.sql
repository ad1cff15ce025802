-- Of the skills with the same name, the one whose source has the highest priority is
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
ranked AS MATERIALIZED (
  SELECT s.id, s.shadowed_by, first_value(s.id) OVER (
           PARTITION BY s.name_key ORDER BY o.away, o.priority DESC, o.label, s.own_folder DESC, s.path) AS winner
  FROM contested c
  CROSS JOIN LATERAL (
    SELECT * FROM repertoire.skills s WHERE s.catalog = @catalog AND sha256(s.name_key) = c.key AND NOT s.refused OFFSET 0
  ) s
  JOIN repertoire.sources o ON o.catalog = s.catalog AND o.id = s.source
),
settled AS (
  UPDATE repertoire.skills s SET shadowed_by = (SELECT nullif(r.winner, r.id) FROM ranked r WHERE r.id = s.id)
  WHERE s.catalog = @catalog
    AND s.id = ANY (ARRAY(SELECT r.id FROM ranked r WHERE r.shadowed_by IS DISTINCT FROM nullif(r.winner, r.id)))
  RETURNING s.id
)
INSERT INTO repertoire.changes (catalog, skill, model, generation) SELECT @catalog, id, 0, @generation FROM settled
ON CONFLICT (catalog, skill, model) DO UPDATE SET generation = excluded.generation
