-- The skills that have one of the texts, whose hashes are a JSON array of
-- hexadecimal strings, have other vectors of the model from now on.
INSERT INTO changes (skill_id, model_id, generation)
SELECT DISTINCT t.skill_id, :model, s.generation + 1
FROM json_each(:hashes) h CROSS JOIN texts t ON t.hash = unhex(h.value) CROSS JOIN state s
WHERE true
ON CONFLICT DO UPDATE SET generation = excluded.generation
