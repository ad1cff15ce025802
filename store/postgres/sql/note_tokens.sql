INSERT INTO repertoire.token_changes AS c (catalog, number) VALUES (@catalog, 1)
ON CONFLICT (catalog) DO UPDATE SET number = c.number + 1
