-- It is one statement, so that terms and vectors are of one state. The number of the model
-- is NULL if the catalog has none of this name. OFFSET 0 makes the planner look each skill
-- up in the index; in a new catalog it would read all of them.
SELECT d.skill, d.terms, d.sketch, own.ordinals, own.vectors
FROM unnest(@rows::bigint[]) r (id)
CROSS JOIN LATERAL (
  SELECT skill, terms, sketch FROM repertoire.documents WHERE catalog = @catalog AND skill = r.id OFFSET 0
) d
CROSS JOIN LATERAL (
  SELECT array_agg(t.ordinal ORDER BY t.ordinal) AS ordinals, array_agg(v.vector ORDER BY t.ordinal) AS vectors
  FROM (SELECT ordinal, hash FROM repertoire.texts WHERE catalog = @catalog AND skill = d.skill OFFSET 0) t
  CROSS JOIN LATERAL (
    SELECT vector FROM repertoire.vectors WHERE catalog = @catalog AND hash = t.hash
      AND model = (SELECT m.id FROM repertoire.models m WHERE m.catalog = @catalog AND m.name = @model) OFFSET 0
  ) v
) own
