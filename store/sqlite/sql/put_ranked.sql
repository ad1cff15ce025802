INSERT INTO ranked (skill_id, terms, sketch) VALUES (:skill, :terms, :sketch)
