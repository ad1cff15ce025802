INSERT INTO vectors (model_id, hash, vector) VALUES (:model, :hash, :vector)
ON CONFLICT (model_id, hash) DO UPDATE SET vector = excluded.vector
