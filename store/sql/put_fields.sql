INSERT INTO fields (skill_id, fields) VALUES (:skill, :fields)
ON CONFLICT (skill_id) DO UPDATE SET fields = excluded.fields
