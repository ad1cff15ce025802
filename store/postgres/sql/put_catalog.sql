WITH made AS (
  INSERT INTO repertoire.catalogs (name, identity) VALUES (@name, @identity) ON CONFLICT (name) DO NOTHING RETURNING id
)
INSERT INTO repertoire.generations (catalog, number, token) SELECT id, 0, 0 FROM made
