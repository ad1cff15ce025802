-- The texts without a vector of the model of the next skills that have any: the
-- cursor of embedding. Skills are visited by rising row, so that one that cannot
-- be embedded holds nobody up. The inner part ends at its limit, without a look at
-- the other skills.
SELECT t.skill_id, t.ordinal, t.hash
FROM (
  SELECT DISTINCT t.skill_id FROM texts t
  WHERE t.skill_id > :after
    AND NOT EXISTS (SELECT 1 FROM vectors v JOIN models m ON m.id = v.model_id
                    WHERE m.name = :model AND v.hash = t.hash)
  ORDER BY t.skill_id LIMIT :limit
) s CROSS JOIN texts t ON t.skill_id = s.skill_id
WHERE NOT EXISTS (SELECT 1 FROM vectors v JOIN models m ON m.id = v.model_id
                  WHERE m.name = :model AND v.hash = t.hash)
ORDER BY t.skill_id, t.ordinal
