INSERT INTO repertoire.generations (catalog, number, token) VALUES (@catalog, @generation, @token)
