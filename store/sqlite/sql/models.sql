SELECT m.name, ifnull((SELECT length(v.vector) - 4 FROM vectors v WHERE v.model_id = m.id LIMIT 1), 0)
FROM models m ORDER BY m.name
