-- This also deletes the vectors of the model.
DELETE FROM models WHERE name = :name
