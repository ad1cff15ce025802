DELETE FROM repertoire.changes WHERE catalog = @catalog AND generation <= @until
