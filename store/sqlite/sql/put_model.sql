-- RETURNING gives no row for DO NOTHING, so that an old model is updated.
INSERT INTO models (name) VALUES (:model)
ON CONFLICT (name) DO UPDATE SET name = excluded.name
RETURNING id
