UPDATE repertoire.catalogs SET generation = @generation, token = @token, newest = @newest, found = @found
WHERE id = @catalog
