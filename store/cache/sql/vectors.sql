SELECT hash, vector, used FROM vectors
WHERE model_id = (SELECT id FROM models WHERE name = :model)
  AND hash IN (SELECT unhex(value) FROM json_each(:hashes))
