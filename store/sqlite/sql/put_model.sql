-- DO NOTHING would return no row, so an existing model is updated.
INSERT INTO models (name) VALUES (:model)
ON CONFLICT (name) DO UPDATE SET name = excluded.name
RETURNING id
