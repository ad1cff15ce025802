-- This also deletes the vectors of these models.
DELETE FROM models WHERE name <> :keep
