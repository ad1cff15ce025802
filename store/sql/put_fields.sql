INSERT INTO fields (skill_id, fields) VALUES (:skill, :fields)
