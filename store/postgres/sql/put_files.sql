INSERT INTO repertoire.files (catalog, skill, ordinal, path, size, sha256)
SELECT @catalog, * FROM unnest(@rows::bigint[], @ordinals::integer[], @paths::bytea[], @sizes::bigint[], @sums::bytea[])
