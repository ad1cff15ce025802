-- The vectors of a model go with it.
DELETE FROM models WHERE name <> :keep
