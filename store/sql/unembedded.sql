-- Skills with a text that has no vector yet: the cursor of embedding. They are
-- visited by rising id, so one that cannot be embedded holds nobody up.
SELECT DISTINCT t.skill_id FROM texts t
WHERE t.skill_id > :after
  AND NOT EXISTS (SELECT 1 FROM vectors v JOIN models m ON m.id = v.model_id
                  WHERE m.name = :model AND v.hash = t.hash)
ORDER BY t.skill_id LIMIT :limit
