INSERT INTO repertoire.documents (catalog, skill, body, terms, sketch)
SELECT @catalog, * FROM unnest(@rows::bigint[], @bodies::bytea[], @terms::bytea[], @sketches::bytea[])
