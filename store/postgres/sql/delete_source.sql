DELETE FROM repertoire.sources WHERE catalog = @catalog AND id = @source
