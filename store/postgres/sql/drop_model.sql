-- This also deletes the vectors of the model.
DELETE FROM repertoire.models WHERE catalog = @catalog AND name = @name
