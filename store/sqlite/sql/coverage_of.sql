-- :rows is a JSON array of skill ids.
SELECT count(*), ifnull(sum(v.hash IS NOT NULL), 0)
FROM json_each(:rows) j CROSS JOIN texts t ON t.skill_id = j.value AND t.ordinal >= :from AND t.ordinal < :end
LEFT JOIN vectors v ON v.hash = t.hash AND v.model_id = (SELECT id FROM models WHERE name = :model)
