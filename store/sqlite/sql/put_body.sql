INSERT INTO bodies (skill_id, body) VALUES (:skill, :body)
