INSERT INTO repertoire.chunks (catalog, upload, ordinal, data) VALUES (@catalog, @upload, @ordinal, @data)
