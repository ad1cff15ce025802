INSERT INTO texts (skill_id, ordinal, hash) VALUES (:skill, :ordinal, :hash)
