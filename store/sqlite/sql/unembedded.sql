-- The cursor of embedding: returns the texts without a vector by the model, for the next
-- skills that have any. It visits skills by descending row: what was added last comes first,
-- and a skill that cannot be embedded does not block the others. The inner query stops at its
-- limit and does not look at other skills.
WITH model (id) AS (SELECT id FROM models WHERE name = :model)
SELECT t.skill_id, t.ordinal, t.hash
FROM texts t
WHERE t.skill_id IN (
    SELECT DISTINCT t.skill_id FROM texts t
    WHERE t.skill_id < :before AND t.ordinal >= :from AND t.ordinal < :end
      AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.model_id = (SELECT id FROM model) AND v.hash = t.hash)
    ORDER BY t.skill_id DESC LIMIT :limit)
  AND t.ordinal >= :from AND t.ordinal < :end
  AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.model_id = (SELECT id FROM model) AND v.hash = t.hash)
ORDER BY t.skill_id DESC, t.ordinal DESC
