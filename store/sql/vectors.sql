-- CROSS JOIN keeps this order of the loops: the texts come sorted, each vector
-- is one look-up, and no vector is sorted.
SELECT t.skill_id, t.ordinal, v.vector
FROM models m CROSS JOIN texts t CROSS JOIN vectors v ON v.model_id = m.id AND v.hash = t.hash
WHERE m.name = :model
ORDER BY t.skill_id, t.ordinal
