INSERT INTO files (skill_id, path, size, sha256) VALUES (:skill, :path, :size, :sha256)
