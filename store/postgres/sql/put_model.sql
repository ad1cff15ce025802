INSERT INTO repertoire.models (catalog, id, name) VALUES (@catalog, @id, @model)
