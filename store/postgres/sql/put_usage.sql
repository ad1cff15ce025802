INSERT INTO repertoire.usage (catalog, at, id, line) SELECT @catalog, * FROM unnest(@times::timestamptz[], @ids::bigint[], @lines::bytea[])
ON CONFLICT DO NOTHING
