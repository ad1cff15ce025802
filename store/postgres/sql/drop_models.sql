-- This also deletes the vectors of these models.
DELETE FROM repertoire.models WHERE catalog = @catalog AND name <> @keep
