-- It changes no row if the vector is the same.
INSERT INTO vectors (model_id, hash, vector) VALUES (:model, :hash, :vector)
ON CONFLICT (model_id, hash) DO UPDATE SET vector = excluded.vector WHERE vector IS NOT excluded.vector
