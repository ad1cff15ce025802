SELECT identity, generation, token, found FROM repertoire.catalogs WHERE id = @catalog
