-- OFFSET 0 makes the planner look each text up in the index, see rankings.sql.
SELECT t.skill, array_agg(t.ordinal ORDER BY t.ordinal), array_agg(v.vector ORDER BY t.ordinal)
FROM (SELECT skill, ordinal, hash FROM repertoire.texts WHERE catalog = @catalog AND skill = ANY (@rows::bigint[]) OFFSET 0) t
CROSS JOIN LATERAL (
  SELECT vector FROM repertoire.vectors WHERE catalog = @catalog AND hash = t.hash
    AND model = (SELECT m.id FROM repertoire.models m WHERE m.catalog = @catalog AND m.name = @model) OFFSET 0
) v
GROUP BY t.skill
