SELECT t.ordinal, v.vector
FROM models m CROSS JOIN texts t CROSS JOIN vectors v ON v.model_id = m.id AND v.hash = t.hash
WHERE m.name = :model AND t.skill_id = :skill
ORDER BY t.ordinal
