UPDATE vectors SET used = :today
WHERE used < :today AND model_id = (SELECT id FROM models WHERE name = :model)
  AND hash IN (SELECT unhex(value) FROM json_each(:hashes))
