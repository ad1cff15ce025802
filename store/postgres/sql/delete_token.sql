DELETE FROM repertoire.tokens WHERE catalog = @catalog AND sha256(name) = sha256(@name::bytea)
