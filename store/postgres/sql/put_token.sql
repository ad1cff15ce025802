INSERT INTO repertoire.tokens (catalog, name, hash, agent, created, expires)
VALUES (@catalog, @name, @hash, @agent, @created, @expires) ON CONFLICT (catalog, sha256(name)) DO NOTHING
