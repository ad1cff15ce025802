SELECT number, token, size, sha256, upload FROM repertoire.bases WHERE catalog = @catalog AND sha256(key) = sha256(@key::bytea)
