SELECT DISTINCT skill_id FROM changes
WHERE generation > :after AND model_id IN (0, ifnull((SELECT id FROM models WHERE name = :model), 0))
ORDER BY skill_id
