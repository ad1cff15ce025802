INSERT INTO repertoire.vectors (catalog, model, hash, vector)
SELECT @catalog, @id, * FROM unnest(@hashes::bytea[], @vectors::bytea[])
ON CONFLICT (catalog, model, hash) DO UPDATE SET vector = excluded.vector
