INSERT INTO models (name) VALUES (:model)
ON CONFLICT (name) DO UPDATE SET name = excluded.name
RETURNING id
