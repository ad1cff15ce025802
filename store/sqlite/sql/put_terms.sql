INSERT INTO terms_of (skill_id, terms) VALUES (:skill, :terms)
