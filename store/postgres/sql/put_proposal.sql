INSERT INTO repertoire.proposals (catalog, id, waits, info, text)
VALUES (@catalog, @id, @waits, @info, @text) ON CONFLICT (catalog, id) DO NOTHING
