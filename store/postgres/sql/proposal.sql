SELECT id, waits, info, text FROM repertoire.proposals WHERE catalog = @catalog AND id = @id
