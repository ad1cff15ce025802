-- Records that the skills with one of these texts have new vectors by the model. :hashes
-- is a JSON array of hexadecimal strings.
INSERT INTO changes (skill_id, model_id, generation)
SELECT DISTINCT t.skill_id, :model, s.generation + 1
FROM json_each(:hashes) h CROSS JOIN texts t ON t.hash = unhex(h.value) CROSS JOIN state s
WHERE true
ON CONFLICT DO UPDATE SET generation = excluded.generation
