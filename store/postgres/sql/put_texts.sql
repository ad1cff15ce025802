INSERT INTO repertoire.texts (catalog, skill, ordinal, hash)
SELECT @catalog, * FROM unnest(@rows::bigint[], @ordinals::integer[], @hashes::bytea[])
