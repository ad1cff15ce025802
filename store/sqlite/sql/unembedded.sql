-- The cursor of embedding: the texts without a vector of the model of the next
-- skills that have any. Skills are visited by rising row, so that one that cannot
-- be embedded holds nobody up. The inner query ends at its limit, without a look at
-- the other skills.
WITH model (id) AS (SELECT id FROM models WHERE name = :model)
SELECT t.skill_id, t.ordinal, t.hash
FROM texts t
WHERE t.skill_id IN (
    SELECT DISTINCT t.skill_id FROM texts t
    WHERE t.skill_id > :after
      AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.model_id = (SELECT id FROM model) AND v.hash = t.hash)
    ORDER BY t.skill_id LIMIT :limit)
  AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.model_id = (SELECT id FROM model) AND v.hash = t.hash)
ORDER BY t.skill_id, t.ordinal
