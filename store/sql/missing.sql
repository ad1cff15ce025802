SELECT count(*) FROM json_each(:ids) j CROSS JOIN texts t ON t.skill_id = j.value
WHERE NOT EXISTS (SELECT 1 FROM vectors v JOIN models m ON m.id = v.model_id WHERE m.name = :model AND v.hash = t.hash)
