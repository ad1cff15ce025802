INSERT INTO repertoire.contents (catalog, sha256, data) SELECT @catalog, * FROM unnest(@sums::bytea[], @data::bytea[])
ON CONFLICT (catalog, sha256) DO UPDATE SET data = excluded.data
