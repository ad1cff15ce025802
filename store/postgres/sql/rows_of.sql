SELECT id, path FROM repertoire.skills WHERE catalog = @catalog AND source = @source
