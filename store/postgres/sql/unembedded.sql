-- The cursor of embedding. It visits skills by descending row: what was added last comes first, and a
-- skill that cannot be embedded does not block the others.
WITH missing AS (
  SELECT t.skill, t.ordinal, t.hash FROM repertoire.texts t
  WHERE t.catalog = @catalog AND t.skill < @before AND t.ordinal >= @from AND t.ordinal < @end AND NOT EXISTS (
    SELECT 1 FROM repertoire.vectors v WHERE v.catalog = @catalog AND v.hash = t.hash
      AND v.model = (SELECT id FROM repertoire.models WHERE catalog = @catalog AND name = @model))
)
SELECT skill, ordinal, hash FROM missing
WHERE skill IN (SELECT DISTINCT skill FROM missing ORDER BY skill DESC LIMIT @limit)
ORDER BY skill DESC, ordinal DESC
