SELECT id, path, stamp, digest, name, location FROM repertoire.skills WHERE catalog = @catalog AND source = @source
