INSERT INTO vectors (model_id, hash, vector, used)
SELECT id, :hash, :vector, :today FROM models WHERE name = :model
ON CONFLICT DO UPDATE SET vector = excluded.vector, used = excluded.used
