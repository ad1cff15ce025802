-- Changes does not answer for a generation that has no row here.
DELETE FROM repertoire.generations WHERE catalog = @catalog AND number < @before
