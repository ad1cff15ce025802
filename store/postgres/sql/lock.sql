SELECT identity, generation, token, newest, found FROM repertoire.catalogs WHERE id = @catalog FOR NO KEY UPDATE
